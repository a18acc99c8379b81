//! The tables that this client has opened, and the numbers that handles hold.
//!
//! N1. A handle names a place and the place's version. A place that is given back takes another
//!     version, so an old handle finds nothing there: never another table.
//! N2. The words of a live place never change. They are read without a lock: they are copied, and
//!     the version is read again.
//! N3. Only a table that a transaction has found or made takes a place, or one that the program
//!     names by itself (N6): a name that is looked up in vain leaves nothing behind.
//! N4. A place is given back once no transaction of this client can show its table: `reclaim` says
//!     when that is.
//! N5. Handles and names are found by words that are never locked. The lock of the book is needed
//!     only to enter a name, or to give one back. The places, their versions and names say all
//!     that the book knows of tables that exist, so it can be made again from them: in a child of
//!     a process that was forked while another thread had it locked. A place that was being
//!     entered then is not live, and is passed over.
//! N6. A handle may be made before its table: such a name keeps its places as long as the
//!     environment is open, whatever becomes of the table.
//!
//! There is no model of N2 here, since one exists: `NamePlace::enter` and `NamePlace::read` order
//! their loads, stores and fences as the board does for its images (`Board::fill_image`,
//! `copy_image`), and Loom tries those (`a_reused_image_is_noticed_by_copiers`). Keep the two
//! alike. A thread that enters a name or gives one back holds the lock of the book, and a hint
//! counts only where its place says the same name.

mod give_back;

use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use twox_hash::XxHash3_64;

use crate::alloc::{collected, copied};
use crate::error::{Error, Result};
use crate::os::{ForkLock, locked, unique_number};
use crate::planted::{self, Bug};
use crate::txn::meaning::{TableInfo, TableShape, TableSpec};
use crate::txn::order::Order;

/// Places of the first block; each other block has twice as many as the one before.
const FIRST_BLOCK: u32 = 32;
/// That is 32 million places.
const BLOCKS: usize = 20;
/// Bytes of a name that lie in the words of its place. A longer one is behind a lock.
const NAME_BYTES: usize = 64;
const NAME_AT: usize = TableShape::WORDS + 1;
const WORDS: usize = NAME_AT + NAME_BYTES / 8;
/// Numbers of places at the first level of hints; each level has four times as many.
const FIRST_HINTS: usize = 256;
const HINT_LEVELS: usize = 10;
/// A number lies in one of so many hints.
const HINT_WINDOW: usize = 4;
/// Functions that a table may be opened with at the same time; the oldest gives way.
const FUNCTIONS: usize = 8;
/// So many names whose tables are gone rest before the first is given back: a table that comes back
/// under its name is mostly found by its old handles.
pub(super) const RESTING: usize = 64;
/// With so many tables the client looks for the first time whether some were dropped by others.
const FIRST_SWEEP: usize = 1024;

/// The low bits of a place's version.
const STATE: u32 = 3;
const VACANT: u32 = 0;
const ENTERED: u32 = 1;
const LIVE: u32 = 2;
/// A place that was given back so often takes no other name.
const LAST_VERSION: u32 = u32::MAX - 8;

/// A handle as users hold it: a number, and of which environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableId {
    tag: u32,
    no: TableNo,
    /// It was made without looking whether the table is there.
    unfounded: bool,
}

impl TableId {
    pub(crate) fn is_main(self) -> bool {
        self.no == TableNo::MAIN
    }

    pub(crate) fn is_unfounded(self) -> bool {
        self.unfounded
    }

    /// All of it, for callers in other languages; bits 1 to 31 of the second word are zero.
    pub(crate) fn words(self) -> [u64; 2] {
        let TableId { tag, no: TableNo { place, version }, unfounded } = self;
        [u64::from(tag) << 32 | u64::from(place), u64::from(version) << 32 | u64::from(unfounded)]
    }

    /// The handle of which these are the words. Of any others it is one that finds nothing, or the
    /// handle of another table.
    pub(crate) fn of_words([first, second]: [u64; 2]) -> TableId {
        let no = TableNo { place: first as u32, version: (second >> 32) as u32 };
        TableId { tag: (first >> 32) as u32, no, unfounded: second & 1 != 0 }
    }
}

/// The number of a table within its environment: a place, and the version that it has (N1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TableNo {
    place: u32,
    version: u32,
}

impl TableNo {
    /// The main table, which has no place.
    pub(crate) const MAIN: TableNo = TableNo { place: u32::MAX, version: 0 };

    /// The place in the list of names.
    pub(super) fn place(self) -> u32 {
        self.place
    }

    #[cfg(test)]
    pub(super) fn test(place: u32, version: u32) -> TableNo {
        TableNo { place, version }
    }
}

struct NamePlace {
    version: AtomicU32,
    words: [AtomicU64; WORDS],
    info: ForkLock<Option<Arc<TableInfo>>>,
    /// N6: its name is never given back.
    pinned: AtomicBool,
}

impl NamePlace {
    fn new() -> NamePlace {
        NamePlace {
            version: AtomicU32::new(VACANT),
            words: [const { AtomicU64::new(0) }; WORDS],
            info: ForkLock::default(),
            pinned: AtomicBool::new(false),
        }
    }

    /// The words of the place, if it has this version from the first to the last.
    #[inline]
    fn read(&self, version: u32) -> Option<[u64; WORDS]> {
        if self.version.load(Ordering::Acquire) != version {
            return None;
        }
        let words = std::array::from_fn(|at| self.words[at].load(Ordering::Relaxed));
        // N2: a word of another version comes with that version.
        fence(Ordering::Acquire);
        (self.version.load(Ordering::Relaxed) == version).then_some(words)
    }

    /// The version, if the place is live.
    fn live(&self) -> Option<u32> {
        let version = self.version.load(Ordering::Acquire);
        (version & STATE == LIVE).then_some(version)
    }

    /// Takes a name in; the version is returned. With the book.
    fn enter(&self, words: &[u64; WORDS], info: Arc<TableInfo>) -> u32 {
        let vacant = self.version.load(Ordering::Relaxed);
        assert!(vacant & STATE == VACANT, "N2: a live place is not written to");
        self.version.store(vacant + ENTERED, Ordering::Relaxed);
        fence(Ordering::Release);
        for (word, value) in self.words.iter().zip(words) {
            word.store(*value, Ordering::Relaxed);
        }
        drop(self.info.replace(Some(info)));
        self.version.store(vacant + LIVE, Ordering::Release);
        vacant + LIVE
    }

    /// Gives the name up; whether the place can take another one. With the book.
    fn leave(&self) -> bool {
        let live = self.version.load(Ordering::Relaxed);
        assert!(live & STATE == LIVE, "N1: a place is given back once");
        let next =
            if planted::is(Bug::PlaceVersion) { live - LIVE } else { live - LIVE + STATE + 1 };
        self.version.store(next, Ordering::Release);
        drop(self.info.replace(None));
        next < LAST_VERSION
    }
}

/// The words of a place, as those of a name that is looked up. A longer name is cut off.
fn words_of(name: &[u8], shape: &TableShape) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    words[..TableShape::WORDS].copy_from_slice(&shape.words());
    words[TableShape::WORDS] = name.len() as u64;
    for (word, bytes) in words[NAME_AT..].iter_mut().zip(name.chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(padded);
    }
    words
}

/// The name of a table, copied from its place.
pub(crate) enum Name {
    Short { bytes: [u8; NAME_BYTES], len: usize },
    Long(Arc<TableInfo>),
}

impl Deref for Name {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Name::Short { bytes, len } => &bytes[..*len],
            Name::Long(info) => &info.name,
        }
    }
}

/// Whether a table is there, as far as handles go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameState {
    /// It was, in the newest snapshot in which this client has looked.
    There,
    /// A write transaction that is not over has made it, or opened it again.
    Pending,
    /// It was gone in this snapshot.
    Gone(u64),
}

/// All handles of one name.
struct NameHandles {
    places: Vec<u32>,
    state: NameState,
    /// The transaction that made the table, if this client has seen that: older snapshots do not
    /// show it. 0: all of them may.
    born: u64,
    /// N6: it is never given back.
    pinned: bool,
}

/// What is known beside the places.
#[derive(Default)]
struct Book {
    groups: HashMap<Box<[u8]>, NameHandles>,
    /// Places that may take a name, the one that is empty for longest first.
    vacant: VecDeque<u32>,
    /// Places that have ever taken one.
    made: u32,
    /// Names whose tables are gone, with the snapshot in which they were.
    gone: VecDeque<(Box<[u8]>, u64)>,
    /// So many of these make it time to give some back.
    next_giving: usize,
    /// So many names make the client look which of them were dropped by others.
    next_sweep: usize,
}

/// The list.
pub(crate) struct Names {
    /// Tells the lists of different environments apart.
    tag: u32,
    blocks: [OnceLock<Box<[NamePlace]>>; BLOCKS],
    /// Where names may lie. They are tried, not believed.
    hints: [OnceLock<Box<[AtomicU32]>>; HINT_LEVELS],
    hint_level: AtomicUsize,
    book: Mutex<Book>,
    /// How often the book was locked.
    #[cfg(test)]
    locks: AtomicUsize,
}

impl Names {
    pub(crate) fn new() -> Names {
        let book = Book { next_giving: 2 * RESTING, next_sweep: FIRST_SWEEP, ..Book::default() };
        Names {
            tag: unique_number() as u32,
            blocks: [const { OnceLock::new() }; BLOCKS],
            hints: [const { OnceLock::new() }; HINT_LEVELS],
            hint_level: AtomicUsize::new(0),
            book: Mutex::new(book),
            #[cfg(test)]
            locks: AtomicUsize::new(0),
        }
    }

    /// The list of a forked child: each number stands for what it did in the parent. No lock that
    /// another thread of the parent may have had is waited for (N5), and tables count as there
    /// until a sweep finds that they are not.
    pub(crate) fn inherited(parent: &Names) -> Result<Names> {
        let names = Names { tag: parent.tag, ..Names::new() };
        let mut book = names.book();
        let mut none = VecDeque::new();
        for _ in 0..parent.places_used() {
            names.take_place(&mut none, &mut book.made)?;
        }
        let made = book.made;
        book.vacant.try_reserve(made as usize)?;
        for number in 0..made {
            names.inherit_place(parent, number, &mut book)?;
        }
        drop(book);
        Ok(names)
    }

    /// Places from here on have never taken a name.
    fn places_used(&self) -> u32 {
        let places = (0..).map_while(|number| self.place(number));
        let is_used = |place: &NamePlace| place.version.load(Ordering::Acquire) != VACANT;
        let used = places.enumerate().filter(|(_, place)| is_used(place)).last();
        used.map_or(0, |(number, _)| number as u32 + 1)
    }

    /// One that was being entered takes another name.
    fn inherit_place(&self, parent: &Names, number: u32, book: &mut Book) -> Result<()> {
        let (Some(from), Some(to)) = (parent.place(number), self.place(number)) else {
            return Ok(());
        };
        let version = from.version.load(Ordering::Acquire);
        to.version.store(version & !STATE, Ordering::Relaxed);
        let found =
            from.live().and_then(|version| Some((from.read(version)?, from.info.copied()?)));
        let Some((words, info)) = found else {
            if version < LAST_VERSION {
                book.vacant.push_back(number);
            }
            return Ok(());
        };
        let shape = words.first_chunk().map(TableShape::of_words).expect("a place says a shape");
        if !book.groups.contains_key(&info.name) {
            book.groups.try_reserve(1)?;
            let group =
                NameHandles { places: Vec::new(), state: NameState::There, born: 0, pinned: false };
            book.groups.insert(copied(&info.name)?.into_boxed_slice(), group);
        }
        let group = book.groups.get_mut(&info.name).expect("it was put there");
        group.places.try_reserve(1)?;
        group.places.push(number);
        let pinned = from.pinned.load(Ordering::Relaxed);
        group.pinned |= pinned;
        to.pinned.store(pinned, Ordering::Relaxed);
        let hash = hash_of(&info.name, &shape);
        to.enter(&words, info);
        self.hint(number, hash, book.made)
    }

    /// The handle for a number.
    pub(crate) fn handle(&self, no: TableNo) -> TableId {
        TableId { tag: self.tag, no, unfounded: false }
    }

    /// The handle of a table that may not be there (N6).
    pub(crate) fn unfounded(&self, wanted: &TableSpec<'_>) -> Result<TableId> {
        let no = if wanted.name.is_empty() {
            TableNo::MAIN
        } else {
            let mut book = self.book();
            let no = self.intern_in(&mut book, wanted, &wanted.shape()?, None)?;
            self.pin(&mut book, wanted.name, no);
            no
        };
        Ok(TableId { tag: self.tag, no, unfounded: true })
    }

    /// N6: the name and this place are never given back.
    fn pin(&self, book: &mut Book, name: &[u8], no: TableNo) {
        if let Some(group) = book.groups.get_mut(name) {
            group.pinned = true;
        }
        if let Some(place) = self.place(no.place) {
            place.pinned.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a handle is of this environment.
    #[inline]
    pub(crate) fn has_made(&self, id: TableId) -> bool {
        id.tag == self.tag
    }

    /// The number of a handle, which must be of this environment.
    #[inline]
    pub(crate) fn number(&self, id: TableId) -> Result<TableNo> {
        if self.has_made(id) {
            Ok(id.no)
        } else {
            Err(Error::Invalid("the table handle belongs to another environment"))
        }
    }

    #[inline]
    fn place(&self, number: u32) -> Option<&NamePlace> {
        let block = (number / FIRST_BLOCK + 1).ilog2();
        let first = FIRST_BLOCK * ((1 << block) - 1);
        self.blocks.get(block as usize)?.get()?.get((number - first) as usize)
    }

    /// Name and shape of a table. `None`: its number was given back.
    pub(crate) fn read(&self, no: TableNo) -> Option<(Name, TableShape)> {
        let words = self.place(no.place)?.read(no.version)?;
        let shape = words.first_chunk().map(TableShape::of_words)?;
        let len = usize::try_from(words[TableShape::WORDS]).ok()?;
        if len > NAME_BYTES {
            return Some((Name::Long(self.info(no)?), shape));
        }
        let mut bytes = [0; NAME_BYTES];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&words[NAME_AT..]) {
            *to = word.to_le_bytes();
        }
        Some((Name::Short { bytes, len }, shape))
    }

    /// All that a handle means, functions included. Takes a lock, which few share.
    pub(crate) fn info(&self, no: TableNo) -> Option<Arc<TableInfo>> {
        let place = self.place(no.place)?;
        let info = place.info.copied();
        // It was taken before the version is looked at: one of another version comes later.
        if place.version.load(Ordering::Acquire) == no.version { info } else { None }
    }

    /// The number for a name and a shape, if it is easily found. Takes no lock.
    pub(crate) fn find(&self, name: &[u8], shape: &TableShape) -> Option<TableNo> {
        if name.len() > NAME_BYTES {
            return None;
        }
        let hints = self.hints.get(self.hint_level.load(Ordering::Acquire))?.get()?;
        let wanted = words_of(name, shape);
        let at = hash_of(name, shape) as usize;
        (0..HINT_WINDOW).find_map(|step| {
            let number = hints[(at + step) % hints.len()].load(Ordering::Relaxed).checked_sub(1)?;
            let place = self.place(number)?;
            let version = place.live()?;
            let is_it = place.read(version)? == wanted;
            is_it.then_some(TableNo { place: number, version })
        })
    }

    /// The number for a name and a shape, the same one each time, whether it was opened before or
    /// not. `made_by`: the transaction, not over yet, that has made the table.
    pub(crate) fn intern(
        &self,
        wanted: &TableSpec<'_>,
        shape: &TableShape,
        made_by: Option<u64>,
    ) -> Result<TableNo> {
        self.intern_in(&mut self.book(), wanted, shape, made_by)
    }

    fn intern_in(
        &self,
        book: &mut Book,
        wanted: &TableSpec<'_>,
        shape: &TableShape,
        made_by: Option<u64>,
    ) -> Result<TableNo> {
        if !book.groups.contains_key(wanted.name) {
            book.groups.try_reserve(1)?;
            let state = if made_by.is_some() { NameState::Pending } else { NameState::There };
            let born = made_by.unwrap_or(0);
            let group = NameHandles { places: Vec::new(), state, born, pinned: false };
            book.groups.insert(copied(wanted.name)?.into_boxed_slice(), group);
        }
        let group = book.groups.get_mut(wanted.name).expect("it was put there");
        if made_by.is_some() {
            group.state = NameState::Pending;
        }
        let words = words_of(wanted.name, shape);
        let same = |number: &&u32| {
            let place = self.place(**number);
            place.is_some_and(|place| place.live().and_then(|v| place.read(v)) == Some(words))
        };
        let number = match group.places.iter().find(same) {
            Some(number) => *number,
            None => {
                if shape.has_function() {
                    self.end_oldest_function(group, &mut book.vacant);
                }
                group.places.try_reserve(1)?;
                let info = Arc::new(wanted.kept()?);
                let number = self.take_place(&mut book.vacant, &mut book.made)?;
                self.place(number).expect("it was taken").enter(&words, info);
                group.places.push(number);
                number
            }
        };
        self.hint(number, hash_of(wanted.name, shape), book.made)?;
        let version = self.place(number).and_then(NamePlace::live).expect("it is live");
        Ok(TableNo { place: number, version })
    }

    /// One that made a comparator anew at each opening would have no end of handles.
    fn end_oldest_function(&self, group: &mut NameHandles, vacant: &mut VecDeque<u32>) {
        let has_function = |number: u32| {
            let place = self.place(number)?;
            let words = place.read(place.live()?)?;
            Some(TableShape::of_words(words.first_chunk()?).has_function())
        };
        let of_functions = |number: &&u32| has_function(**number) == Some(true);
        if group.places.iter().filter(of_functions).count() >= FUNCTIONS
            && let Some(at) = group.places.iter().position(|number| of_functions(&number))
        {
            self.vacate(group.places.remove(at), vacant);
        }
    }

    fn vacate(&self, number: u32, vacant: &mut VecDeque<u32>) {
        if self.place(number).is_some_and(NamePlace::leave) {
            vacant.push_back(number);
        }
    }

    /// An empty place.
    fn take_place(&self, vacant: &mut VecDeque<u32>, made: &mut u32) -> Result<u32> {
        if let Some(number) = vacant.pop_front() {
            return Ok(number);
        }
        // Room for all of them, so that giving back needs none.
        vacant.try_reserve(*made as usize + 1)?;
        let block = (*made / FIRST_BLOCK + 1).ilog2();
        let Some(room) = self.blocks.get(block as usize) else {
            return Err(Error::Invalid("more than 33554400 tables are open"));
        };
        if room.get().is_none() {
            let places = collected((0..FIRST_BLOCK << block).map(|_| NamePlace::new()))?;
            let _ = room.set(places.into_boxed_slice());
        }
        *made += 1;
        Ok(*made - 1)
    }

    /// Notes where a name lies. With the book.
    fn hint(&self, number: u32, hash: u64, made: u32) -> Result<()> {
        let mut level = self.hint_level.load(Ordering::Relaxed);
        while made as usize > (FIRST_HINTS << (2 * level)) / 4 && level + 1 < HINT_LEVELS {
            level += 1;
        }
        let Some(room) = self.hints.get(level) else { return Ok(()) };
        if room.get().is_none() {
            let hints = collected((0..FIRST_HINTS << (2 * level)).map(|_| AtomicU32::new(0)))?;
            let _ = room.set(hints.into_boxed_slice());
        }
        self.hint_level.store(level, Ordering::Release);
        let Some(hints) = room.get() else { return Ok(()) };
        let hint = |step: usize| &hints[(hash as usize + step) % hints.len()];
        let is_free = |step: &usize| {
            let found = hint(*step).load(Ordering::Relaxed);
            let other = found.checked_sub(1).filter(|other| *other != number);
            other.and_then(|other| self.place(other)?.live()).is_none()
        };
        let step = (0..HINT_WINDOW).find(is_free).unwrap_or((hash >> 32) as usize % HINT_WINDOW);
        hint(step).store(number + 1, Ordering::Relaxed);
        Ok(())
    }

    /// An order of the caller's with which a table was opened before, and is still.
    pub(crate) fn known_order(
        &self,
        name: &[u8],
        of: impl Fn(&TableInfo) -> Option<&Order>,
    ) -> Option<Order> {
        let book = self.book();
        let mut infos = book.groups.get(name)?.places.iter().filter_map(|number| {
            let info = self.place(*number)?.info.copied();
            of(&*info?).filter(|order| order.is_custom()).cloned()
        });
        infos.next()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        #[cfg(test)]
        self.locks.fetch_add(1, Ordering::Relaxed);
        locked(&self.book)
    }

    #[cfg(test)]
    pub(crate) fn locks(&self) -> usize {
        self.locks.load(Ordering::Relaxed)
    }

    /// How many names are never given back.
    #[cfg(test)]
    pub(super) fn pinned(&self) -> usize {
        self.book().groups.values().filter(|group| group.pinned).count()
    }

    /// How many tables have numbers, and how many places there are for them.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        let book = self.book();
        (book.groups.len(), book.made as usize)
    }
}

/// Where a name and a shape are looked for.
fn hash_of(name: &[u8], shape: &TableShape) -> u64 {
    let words = shape.words();
    let fold = words.iter().fold(0u64, |fold, word| fold.rotate_left(13) ^ word);
    XxHash3_64::oneshot(name) ^ fold.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
