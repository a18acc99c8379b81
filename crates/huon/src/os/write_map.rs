//! The writer's view of the data file: pages that will not be flushed soon are edited in it, and no
//! call writes them.
//!
//! 1. A store cannot fail. It is made only in files of systems where a block that a file has stays
//!    where it is (ext4, tmpfs: no copy-on-write, no extents that files share), and only below a
//!    length up to which every block was allocated.
//! 2. It shows nothing but the pages that a transaction has taken and not yet committed. A stray
//!    pointer of the process can hit all of it, so it exists only where commits are lazy.
//! 3. A forked child inherits it, so that what the child unmaps is its own. It edits nothing: its
//!    changes and commits are refused before they touch a page.
//! 4. The owner of a page of it keeps the whole: a file that grew has a new one beside it.
//!
//! A page that is not in memory is read from the disk before it is written over, in vain. So the
//! caller asks only for pages that were in memory not long ago.

use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use super::mutex::locked;
use super::sys::files::{allocate, bytes_in_blocks, is_steady};
use super::sys::memory::{Access, Advice, advise, map_file, unmap};

/// Bytes of the file, to be edited where they are.
pub(crate) struct ViewPage(ViewBytes);

enum ViewBytes {
    Mapped(Mapped),
    #[cfg(any(test, feature = "simulation"))]
    Simulated(SimulatedPage),
}

struct Mapped {
    first: NonNull<u8>,
    bytes: usize,
    /// Keeps the mapping.
    _view: Arc<View>,
}

// SAFETY: the bytes are this value's alone (see `WriteMap::page`), as those of a box are.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

/// The bytes of a page of a simulated file, which takes them in when they are dropped.
#[cfg(any(test, feature = "simulation"))]
pub(crate) type SimulatedPage = Box<dyn DerefMut<Target = [u8]> + Send + Sync>;

#[cfg(any(test, feature = "simulation"))]
impl From<SimulatedPage> for ViewPage {
    fn from(page: SimulatedPage) -> ViewPage {
        ViewPage(ViewBytes::Simulated(page))
    }
}

impl Deref for ViewPage {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            // SAFETY: the range lies in the mapping, which `_view` keeps, and in the file; no other
            // code writes it while this value lives (the contract of `WriteMap::page`).
            ViewBytes::Mapped(page) => unsafe {
                std::slice::from_raw_parts(page.first.as_ptr(), page.bytes)
            },
            #[cfg(any(test, feature = "simulation"))]
            ViewBytes::Simulated(page) => page,
        }
    }
}

impl DerefMut for ViewPage {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            // SAFETY: as above, and no other code reads it either.
            ViewBytes::Mapped(page) => unsafe {
                std::slice::from_raw_parts_mut(page.first.as_ptr(), page.bytes)
            },
            #[cfg(any(test, feature = "simulation"))]
            ViewBytes::Simulated(page) => page,
        }
    }
}

/// A view that is opened when it is first wanted.
#[derive(Default)]
pub(super) struct WriteMap {
    state: Mutex<ViewState>,
}

#[derive(Default)]
enum ViewState {
    #[default]
    Unasked,
    /// Not in this file.
    Refused,
    Open(Arc<View>),
}

impl WriteMap {
    /// The `bytes` at `offset` of the file, which is at least `file_bytes` long. `None`: that is
    /// not possible here. `open` gives a description of the file that no locks are on: what is
    /// mapped keeps its own, also in a forked child.
    ///
    /// # Safety
    /// The range ends below `file_bytes`, no client makes the file shorter, and none writes or
    /// reads these bytes as long as the result lives.
    pub(super) unsafe fn page(
        &self,
        open: impl FnOnce() -> Option<File>,
        file_bytes: u64,
        offset: u64,
        bytes: usize,
    ) -> Option<ViewPage> {
        let mut state = locked(&self.state);
        let view = match &*state {
            ViewState::Refused => return None,
            ViewState::Open(view) if file_bytes <= view.bytes() => view,
            _ => {
                let first = matches!(*state, ViewState::Unasked);
                let view = open().and_then(|file| View::open(&file, file_bytes, first));
                *state = view.map_or(ViewState::Refused, |view| ViewState::Open(Arc::new(view)));
                match &*state {
                    ViewState::Open(view) => view,
                    _ => return None,
                }
            }
        };
        // SAFETY: the view reaches as far as the file.
        let first = unsafe { view.at(offset) };
        Some(ViewPage(ViewBytes::Mapped(Mapped { first, bytes, _view: view.clone() })))
    }
}

/// No view is smaller, so that a file that grows has a new one now and then only.
const VIEW_BYTES_MIN: u64 = 64 << 20;

/// A shared mapping that may be written.
struct View {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: an address and a length; the holders of pages answer for their use.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// A view that reaches past the end of a file of `file_bytes`. `check`: the file may have
    /// holes, as copies have that leave out zeros. `None`: not here.
    fn open(file: &File, file_bytes: u64, check: bool) -> Option<View> {
        // Where addresses are scarce they are better kept for the map.
        if usize::BITS < 64 {
            return None;
        }
        if check && !(is_steady(file) && is_solid(file, file_bytes)) {
            return None;
        }
        let bytes = file_bytes.max(VIEW_BYTES_MIN).checked_next_power_of_two()?;
        let bytes = isize::try_from(bytes).ok()?.cast_unsigned();
        let base = map_file(file, bytes, Access::Write).ok()?;
        // A page that is not in memory after all is read alone. A hint.
        // SAFETY: the range is ours, and the hint changes nothing of what it holds.
        unsafe { advise(base, bytes, Advice::Random) };
        Some(View { base, bytes })
    }

    fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// # Safety
    /// `offset` lies inside the view.
    unsafe fn at(&self, offset: u64) -> NonNull<u8> {
        debug_assert!(offset < self.bytes());
        // SAFETY: the caller's.
        unsafe { self.base.add(offset as usize) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and every page of it keeps it.
        unsafe { unmap(self.base, self.bytes) };
    }
}

/// Whether every block of the file is allocated. Its blocks may include the bookkeeping of the file
/// system, which is little: holes of that size are filled.
fn is_solid(file: &File, file_bytes: u64) -> bool {
    let solid = file.metadata().is_ok_and(|stat| bytes_in_blocks(&stat) >= file_bytes);
    solid && allocate(file, 0, file_bytes).is_ok()
}
