//! What each thread has at hand of a kind of objects: the one that it used last, and the one that
//! it closed last.
//!
//! Programs use one object again and again, and looking it up takes a lock and a count that all
//! threads share. A closed object serves the next one that the thread opens, so that this costs no
//! allocation, and its place changes hands only now and then.
//!
//! H5. What lies at hand has no destructor of its own, so that no call asks whether that has run.
//!     A [`ThreadEnd`] lets go of it, and is made before anything is kept.
//! H6. A thread whose `ThreadEnd` was dropped keeps nothing any more: destructors of the program's
//!     that run later find objects by their handles alone.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::LocalKey;

use huon::ThisThread;

use super::{BURST, Handles, KEPT, Place, generation_of, index_of, next};

/// The objects of a kind that each thread has at hand: [`recent!`](crate::recent) makes one.
pub struct Recent<T: 'static> {
    all: &'static Handles<T>,
    at_hand: &'static LocalKey<AtHand<T>>,
    end: &'static LocalKey<ThreadEnd<T>>,
}

/// Makes a `static` that knows which objects of a kind each thread has at hand:
///
/// ```
/// static WORDS: huon_c::Handles<String> = huon_c::Handles::new(9);
/// huon_c::recent!(static RECENT: String, of WORDS);
///
/// let handle = WORDS.insert(std::sync::Arc::new("word".to_owned())).unwrap();
/// assert_eq!(RECENT.with(handle, |word| word.len()), Some(4));
/// assert!(RECENT.keep(handle, |_| true));
/// assert_eq!(RECENT.with(handle, |word| word.len()), None);
/// ```
#[macro_export]
macro_rules! recent {
    (static $name:ident: $object:ty, of $all:expr) => {
        static $name: $crate::Recent<$object> = {
            std::thread_local! {
                static AT_HAND: $crate::AtHand<$object> = const { $crate::AtHand::new() };
                static END: $crate::ThreadEnd<$object> = const { $crate::ThreadEnd::of(&AT_HAND) };
            }
            $crate::Recent::of(&$all, &AT_HAND, &END)
        };
    };
}

/// What a thread has at hand (H5).
#[doc(hidden)]
pub struct AtHand<T: 'static> {
    used: ManuallyDrop<RefCell<Option<Used<T>>>>,
    spare: ManuallyDrop<Cell<Option<Spare<T>>>>,
    /// Whether something may be kept.
    is_lasting: Cell<bool>,
}

/// The end of a thread, which lets go of what that has at hand (H6).
#[doc(hidden)]
pub struct ThreadEnd<T: 'static>(&'static LocalKey<AtHand<T>>);

impl<T> AtHand<T> {
    /// Nothing yet.
    #[allow(clippy::new_without_default, reason = "for `recent!` alone")]
    pub const fn new() -> AtHand<T> {
        AtHand {
            used: ManuallyDrop::new(RefCell::new(None)),
            spare: ManuallyDrop::new(Cell::new(None)),
            is_lasting: Cell::new(false),
        }
    }
}

impl<T> ThreadEnd<T> {
    /// For what lies there.
    pub const fn of(at_hand: &'static LocalKey<AtHand<T>>) -> ThreadEnd<T> {
        ThreadEnd(at_hand)
    }
}

impl<T> Drop for ThreadEnd<T> {
    fn drop(&mut self) {
        let (used, spare) = self.0.with(|at_hand| {
            at_hand.is_lasting.set(false);
            // One in use is so by a callback that ended its thread.
            (
                at_hand.used.try_borrow_mut().ok().and_then(|mut used| used.take()),
                at_hand.spare.take(),
            )
        });
        drop((used, spare));
    }
}

/// The object that a thread used last.
struct Used<T: 'static> {
    handle: usize,
    generation: u64,
    place: &'static Place<T>,
    object: Arc<T>,
    me: ThisThread,
}

impl<T> Used<T> {
    /// Whether it was not closed since. Costs a load.
    #[inline]
    fn is_open(&self) -> bool {
        self.place.generation.load(Ordering::Acquire) == self.generation
    }
}

/// The object whose handle a thread closed last.
struct Spare<T: 'static> {
    all: &'static Handles<T>,
    place: &'static Place<T>,
    index: usize,
    handle: usize,
}

impl<T> Spare<T> {
    fn open(self) -> usize {
        self.place.generation.store(generation_of(self.handle), Ordering::Release);
        ManuallyDrop::new(self).handle
    }
}

impl<T> Drop for Spare<T> {
    /// The place is free for all.
    fn drop(&mut self) {
        let object = self.place.lock().take();
        self.place.generation.store(generation_of(self.handle), Ordering::Release);
        self.all.give_back(self.index);
        drop(object);
    }
}

impl<T> Recent<T> {
    /// As [`recent!`](crate::recent) makes one.
    #[doc(hidden)]
    pub const fn of(
        all: &'static Handles<T>,
        at_hand: &'static LocalKey<AtHand<T>>,
        end: &'static LocalKey<ThreadEnd<T>>,
    ) -> Recent<T> {
        Recent { all, at_hand, end }
    }

    /// Does something with the object of a handle; `None` if there is none.
    #[inline]
    pub fn with<R>(&self, handle: usize, work: impl FnOnce(&Arc<T>) -> R) -> Option<R> {
        self.at_hand.with(|at_hand| {
            let (mut used, found);
            let object = match at_hand.used.try_borrow_mut() {
                Ok(borrowed) => {
                    used = borrowed;
                    match &*used {
                        Some(used) if used.handle == handle && used.is_open() => {}
                        _ => *used = self.look_up(handle, at_hand)?,
                    }
                    used.as_ref().map(|used| &used.object)
                }
                // From within another work, as a comparator is called.
                Err(_) => None,
            };
            let object = match object {
                Some(object) => object,
                None => {
                    found = self.all.get(handle)?;
                    &found
                }
            };
            Some(work(object))
        })
    }

    /// The object of a handle, for a thread that keeps one; `None` if there is none.
    #[cold]
    #[inline(never)]
    fn look_up(&self, handle: usize, at_hand: &AtHand<T>) -> Option<Option<Used<T>>> {
        let (place, generation) = self.all.place(handle)?;
        let (object, me) = (self.all.get(handle)?, ThisThread::get());
        let used = Used { handle, generation, place, object, me };
        Some(self.is_lasting(at_hand).then_some(used))
    }

    /// Whether the thread keeps what it has at hand (H6).
    #[inline]
    fn is_lasting(&self, at_hand: &AtHand<T>) -> bool {
        if !at_hand.is_lasting.get() {
            at_hand.is_lasting.set(self.end.try_with(|_| ()).is_ok());
        }
        at_hand.is_lasting.get()
    }

    /// As [`Recent::with`] for the object that was used last; `None` if the handle is another
    /// one's.
    pub(crate) fn with_same<R>(
        &self,
        handle: usize,
        work: impl FnOnce(&Arc<T>, ThisThread) -> Option<R>,
    ) -> Option<R> {
        self.at_hand.with(|at_hand| {
            let used = at_hand.used.try_borrow_mut().ok()?;
            let used = used.as_ref().filter(|used| used.handle == handle && used.is_open())?;
            work(&used.object, used.me)
        })
    }

    /// Lets go of the object of a handle, if it was used last.
    #[inline]
    pub fn forget(&self, handle: usize) {
        self.at_hand.with(|at_hand| at_hand.forget(handle));
    }

    /// Closes a handle, lets go of its object, and keeps that for the next one, if `rest` makes it
    /// fit for that; `false`: it is open. An object that others share is not kept.
    pub fn keep(&self, handle: usize, rest: impl FnOnce(&T) -> bool) -> bool {
        let all = self.all;
        let Some((place, generation)) = all.place(handle) else { return false };
        let Some(next_handle) = all.handle(index_of(handle), next(generation)) else {
            return false;
        };
        self.at_hand.with(|at_hand| {
            at_hand.forget(handle);
            if !self.is_lasting(at_hand) {
                return false;
            }
            let held = place.lock();
            let is_open = place.generation.load(Ordering::Relaxed) == generation;
            let Some(object) = held.as_ref().filter(|_| is_open) else { return false };
            let is_alone = Arc::strong_count(object) == 1 && Arc::weak_count(object) == 0;
            if !is_alone || next(generation).is_multiple_of(BURST) || !rest(object) {
                return false;
            }
            place.generation.store(next(generation) | KEPT, Ordering::Release);
            drop(held);
            let index = index_of(handle);
            at_hand.spare.set(Some(Spare { all, place, index, handle: next_handle }));
            true
        })
    }

    /// Gives the object that was kept its new handle, once `renew` has made of it what it is to be;
    /// `None`: there is none, or nothing came of that.
    pub fn open(&self, renew: impl FnOnce(&Arc<T>, usize) -> bool) -> Option<usize> {
        let spare = self.at_hand.with(|at_hand| at_hand.spare.take())?;
        let is_renewed =
            spare.place.lock().as_ref().is_some_and(|object| renew(object, spare.handle));
        is_renewed.then(|| spare.open())
    }
}

impl<T> AtHand<T> {
    fn forget(&self, handle: usize) {
        if let Ok(mut used) = self.used.try_borrow_mut() {
            used.take_if(|used| used.handle == handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn what_was_used_last_is_found_while_it_is_open() {
        static WORDS: Handles<&str> = Handles::new(5);
        recent!(static RECENT: &'static str, of WORDS);
        let (one, two) = (WORDS.insert(Arc::new("one")), WORDS.insert(Arc::new("two")));
        let (one, two) = (one.unwrap(), two.unwrap());
        let word = |handle| RECENT.with(handle, |word| **word);
        assert_eq!([word(one), word(one), word(two)], [Some("one"), Some("one"), Some("two")]);
        let within = RECENT.with(two, |_| [word(one), word(two)]);
        assert_eq!(within, Some([Some("one"), Some("two")]));
        WORDS.remove(two);
        assert_eq!([word(two), word(one), word(two)], [None, Some("one"), None]);
    }

    #[test]
    fn what_was_closed_last_serves_again_under_another_handle() {
        static NUMBERS: Handles<AtomicU64> = Handles::new(6);
        recent!(static RECENT: AtomicU64, of NUMBERS);
        let first = NUMBERS.insert(Arc::new(AtomicU64::new(1))).unwrap();
        assert!(!RECENT.keep(first, |_| false), "it does not fit");
        let shared = NUMBERS.get(first);
        assert!(!RECENT.keep(first, |_| true), "another has it");
        drop(shared);
        assert!(RECENT.with(first, |_| ()).is_some());
        assert!(RECENT.keep(first, |_| true), "the thread has let go of it");
        assert!(!RECENT.keep(first, |_| true), "it is closed");
        assert!(NUMBERS.get(first).is_none() && NUMBERS.remove(first).is_none());
        assert!(NUMBERS.all(|_| true).is_empty());
        let renew = |number: &Arc<AtomicU64>, handle: usize| {
            number.store(handle as u64, Ordering::Relaxed);
            true
        };
        let second = RECENT.open(renew).unwrap();
        assert_eq!(RECENT.open(renew), None);
        assert_ne!(first, second);
        assert_eq!(NUMBERS.get(second).unwrap().load(Ordering::Relaxed), second as u64);
        // A place rests after so many handles.
        let mut handles = std::collections::HashSet::new();
        let mut handle = second;
        while RECENT.keep(handle, |_| true) {
            handle = RECENT.open(renew).unwrap();
            assert!(handles.insert(handle));
        }
        assert_eq!(handles.len() as u64, BURST - 2);
        assert!(NUMBERS.remove(handle).is_some());
        // One that does not serve again leaves its place.
        let last = NUMBERS.insert(Arc::new(AtomicU64::new(2))).unwrap();
        assert!(RECENT.keep(last, |_| true));
        assert_eq!(RECENT.open(|_, _| false), None);
        assert!(NUMBERS.get(last).is_none() && NUMBERS.all(|_| true).is_empty());
        assert_eq!(NUMBERS.book.lock().free.len(), 2);
    }

    /// Says in a thread's destructor what it finds by a handle.
    struct Later(Cell<usize>, std::sync::mpsc::Sender<(bool, bool)>);

    impl Drop for Later {
        fn drop(&mut self) {
            let found = LATER.with(self.0.get(), |_| ()).is_some();
            let _ = self.1.send((found, LATER.keep(self.0.get(), |_| true)));
        }
    }

    static ALL: Handles<Arc<()>> = Handles::new(7);
    recent!(static LATER: Arc<()>, of ALL);

    #[test]
    fn a_thread_that_ends_lets_go_of_all_and_finds_objects_still() {
        thread_local! {
            static LAST_WORDS: RefCell<Option<Later>> = const { RefCell::new(None) };
        }
        let counted = Arc::new(());
        let [used, spare, later] = [(); 3].map(|()| ALL.insert(Arc::new(counted.clone())).unwrap());
        let (told, said) = std::sync::mpsc::channel();
        let work = move || {
            // Made first, it is destroyed last.
            LAST_WORDS.set(Some(Later(Cell::new(later), told)));
            assert!(LATER.keep(spare, |_| true));
            assert!(LATER.with(used, |_| ()).is_some());
            ALL.remove(used);
        };
        std::thread::spawn(work).join().unwrap();
        assert_eq!(said.recv(), Ok((true, false)), "found, and not kept");
        assert_eq!(Arc::strong_count(&counted), 2, "the one that is still open");
        assert!(ALL.remove(later).is_some());
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
