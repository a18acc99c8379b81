//! Handles: numbers that look like pointers to C, and are looked up, never followed.
//!
//! H1. A handle names a kind, a place and a generation. The place's generation goes up when its
//!     handle is closed, so an old handle finds nothing; places are taken again first-in-first-out,
//!     after a thread has used one for [`BURST`] handles in a row at the most, so a generation
//!     comes back only after [`GENERATIONS`] times the places that are free.
//! H2. A place is never freed: any number can be looked up, and [`Words`] can be read whenever.
//! H3. A lookup shares the object: it stays while it is used, even if another thread closes it
//!     meanwhile. The object that a thread used last stays until it uses another one, or ends.
//! H4. A forked child finds all of them, whatever other threads were doing: no lock is held for
//!     more than an object's going in or out.

mod recent;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use huon::{ForkGuard, ForkLock, hold_off};

pub use recent::Recent;
#[doc(hidden)]
pub use recent::{AtHand, ThreadEnd};

/// The lowest bits are zero, as those of pointers are.
const ZERO_BITS: u32 = 4;
const GENERATION_BITS: u32 = 16;
const PLACE_BITS: u32 = 23;
const GENERATIONS: u64 = 1 << GENERATION_BITS;
/// Added to a generation: it is the next handle's, and the place has its object already.
const KEPT: u64 = GENERATIONS;
const BURST: u64 = 4096;
/// Places come in blocks.
const BLOCK: usize = 512;
const BLOCKS: usize = (1 << PLACE_BITS) / BLOCK;

/// All objects of a kind that C has handles of.
pub struct Handles<T> {
    kind: u64,
    blocks: [OnceLock<Box<[Place<T>]>>; BLOCKS],
    book: ForkLock<Book>,
}

struct Place<T> {
    /// Of the next handle, or of the one that is open; changes while the object is locked.
    generation: AtomicU64,
    object: ForkLock<Option<Arc<T>>>,
    words: Words,
}

/// Numbers of a place, which its objects use one after another: a thread may look at them that has
/// no share in the object. What they mean says a [row](crate::row).
pub(crate) struct Words {
    uses: AtomicU64,
    progress: AtomicU64,
}

impl Words {
    pub(crate) const fn new() -> Words {
        Words { uses: AtomicU64::new(0), progress: AtomicU64::new(0) }
    }

    /// Rises whenever something else than a step in a row is done with the object.
    #[inline(always)]
    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Acquire)
    }

    /// No row that was made so far holds good.
    pub(crate) fn lose(&self) {
        self.uses.fetch_add(1, Ordering::AcqRel);
    }

    /// How many records of its row were shown.
    #[inline(always)]
    pub(crate) fn progress(&self) -> usize {
        self.progress.load(Ordering::Relaxed) as usize
    }

    #[inline(always)]
    pub(crate) fn set_progress(&self, count: usize) {
        self.progress.store(count as u64, Ordering::Relaxed);
    }
}

struct Book {
    free: VecDeque<usize>,
    made: usize,
}

impl<T> Handles<T> {
    /// No handles yet. Each kind has a number of its own, from 1 to 15.
    pub const fn new(kind: u8) -> Handles<T> {
        assert!(kind > 0 && kind < 16);
        Handles {
            kind: kind as u64,
            blocks: [const { OnceLock::new() }; BLOCKS],
            book: ForkLock::new(Book { free: VecDeque::new(), made: 0 }),
        }
    }

    /// A handle for `object`. `None`: there are too many.
    pub fn insert(&'static self, object: Arc<T>) -> Option<usize> {
        self.insert_with(|_, _| object)
    }

    /// The same for an object that is told its handle, and its place's words.
    pub(crate) fn insert_with(
        &'static self,
        object: impl FnOnce(usize, &'static Words) -> Arc<T>,
    ) -> Option<usize> {
        let index = self.take_place()?;
        let place = self.block(index / BLOCK)?.get(index % BLOCK)?;
        // Nothing changes it but who has taken the place.
        let handle = self.handle(index, place.generation.load(Ordering::Relaxed))?;
        *place.lock() = Some(object(handle, &place.words));
        Some(handle)
    }

    fn handle(&self, index: usize, generation: u64) -> Option<usize> {
        let number = (self.kind << PLACE_BITS | index as u64) << GENERATION_BITS | generation;
        usize::try_from(number << ZERO_BITS).ok()
    }

    /// The object of a handle; `None` if the handle is not, or no longer, one of these.
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        let (place, generation) = self.place(handle)?;
        let object = place.lock();
        if place.generation.load(Ordering::Relaxed) == generation { object.clone() } else { None }
    }

    /// The objects that `is` wanted. Looks at all there are.
    pub fn all(&self, is: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let places = self.blocks.iter().filter_map(OnceLock::get).flat_map(|block| block.iter());
        places.filter_map(Place::opened).filter(|object| is(object)).collect()
    }

    /// Closes a handle, and returns its object.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let (place, generation) = self.place(handle)?;
        let mut held = place.lock();
        if place.generation.load(Ordering::Relaxed) != generation {
            return None;
        }
        let object = held.take()?;
        place.generation.store(next(generation), Ordering::Release);
        drop(held);
        self.give_back(index_of(handle));
        Some(object)
    }

    fn give_back(&self, index: usize) {
        let _held_off = hold_off();
        self.book.lock().free.push_back(index);
    }

    /// The place of a handle, and the generation that the handle is of.
    fn place(&self, handle: usize) -> Option<(&Place<T>, u64)> {
        let number = handle as u64 >> ZERO_BITS;
        let kind = number >> GENERATION_BITS >> PLACE_BITS;
        if number << ZERO_BITS != handle as u64 || kind != self.kind {
            return None;
        }
        let index = index_of(handle);
        Some((&self.blocks[index / BLOCK].get()?[index % BLOCK], generation_of(handle)))
    }

    fn take_place(&self) -> Option<usize> {
        // A child that is forked meanwhile must not find it half changed.
        let _held_off = hold_off();
        let mut book = self.book.lock();
        // A place rests while others are free, so that its generations last.
        let rested = book.free.len() >= BLOCK || book.made == BLOCKS * BLOCK;
        if rested && let Some(index) = book.free.pop_front() {
            return Some(index);
        }
        let index = book.made;
        (index < BLOCKS * BLOCK).then(|| book.made += 1)?;
        Some(index)
    }

    fn block(&self, at: usize) -> Option<&[Place<T>]> {
        let fresh = || Place {
            generation: AtomicU64::new(0),
            object: ForkLock::new(None),
            words: Words::new(),
        };
        let block = self.blocks.get(at)?;
        if let Some(made) = block.get() {
            return Some(made);
        }
        let _held_off = hold_off();
        Some(block.get_or_init(|| (0..BLOCK).map(|_| fresh()).collect()))
    }
}

impl<T> Place<T> {
    fn lock(&self) -> ForkGuard<'_, Option<Arc<T>>> {
        self.object.lock()
    }

    /// The object, if it has a handle.
    fn opened(&self) -> Option<Arc<T>> {
        let object = self.lock();
        if self.generation.load(Ordering::Relaxed) < KEPT { object.clone() } else { None }
    }
}

/// The generation after one.
fn next(generation: u64) -> u64 {
    (generation + 1) % GENERATIONS
}

fn generation_of(handle: usize) -> u64 {
    handle as u64 >> ZERO_BITS & (GENERATIONS - 1)
}

fn index_of(handle: usize) -> usize {
    (handle >> (ZERO_BITS + GENERATION_BITS)) & ((1 << PLACE_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_finds_its_object_until_it_is_closed() {
        static NUMBERS: Handles<u32> = Handles::new(3);
        let seven = NUMBERS.insert(Arc::new(7)).unwrap();
        let eight = NUMBERS.insert(Arc::new(8)).unwrap();
        assert_eq!(NUMBERS.get(seven).as_deref(), Some(&7));
        assert_eq!(NUMBERS.remove(seven).as_deref(), Some(&7));
        assert!(NUMBERS.get(seven).is_none() && NUMBERS.remove(seven).is_none());
        assert_eq!(NUMBERS.get(eight).as_deref(), Some(&8));
        // Its place is taken again, and the old handle still finds nothing.
        for n in 0..3 * BLOCK as u32 {
            let handle = NUMBERS.insert(Arc::new(n)).unwrap();
            assert_ne!(handle, seven);
            assert_eq!(NUMBERS.remove(handle).as_deref(), Some(&n));
        }
        assert!(NUMBERS.get(seven).is_none());
    }

    #[test]
    fn any_number_may_be_looked_up() {
        static ONES: Handles<()> = Handles::new(1);
        static TWOS: Handles<()> = Handles::new(2);
        let one = ONES.insert(Arc::new(())).unwrap();
        assert!(TWOS.get(one).is_none(), "it is of another kind");
        for wrong in [0, 1, 16, usize::MAX, one + 1, one + 16, one ^ 1 << 60, &one as *const _ as _]
        {
            assert!(ONES.get(wrong).is_none() && ONES.remove(wrong).is_none(), "{wrong:x}");
        }
        assert!(ONES.get(one).is_some());
    }

    #[test]
    fn objects_in_use_stay() {
        static WORDS: Handles<String> = Handles::new(4);
        let handle = WORDS.insert(Arc::new("word".to_owned())).unwrap();
        let used = WORDS.get(handle).unwrap();
        drop(WORDS.remove(handle));
        assert_eq!(*used, "word");
    }
}
