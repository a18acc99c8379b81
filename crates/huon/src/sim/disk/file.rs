//! One open file of a simulated machine.

use std::ops::{Deref, DerefMut};

use super::*;
use crate::os::{
    Counters, IoCounts, SimulatedPage, ViewPage, device_failed, parts_bytes, past_end,
};

/// A page that is edited in the file. The record has two writes for it: rubbish when the editing
/// begins, and what it has become when it ends.
struct SimPage {
    machine: Arc<Machine>,
    offset: u64,
    bytes: Vec<u8>,
}

impl Deref for SimPage {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for SimPage {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for SimPage {
    fn drop(&mut self) {
        let mut state = self.machine.state();
        self.machine.put(&mut state, &self.bytes, self.offset);
        seen(&self.machine, state);
    }
}

/// Tells the watcher of what happened, with the state unlocked.
pub(super) fn seen(machine: &Arc<Machine>, state: MutexGuard<'_, DiskState>) {
    let watch = state.watch.clone().filter(|_| state.recording);
    drop(state);
    if let Some(watch) = watch {
        watch(&SimDisk { machine: Arc::clone(machine) });
    }
}

/// One open file of a simulated machine.
pub(super) struct SimFile {
    machine: Arc<Machine>,
    handle: u64,
    writable: bool,
    counters: Counters,
}

impl SimFile {
    pub(super) fn new(machine: Arc<Machine>, writable: bool) -> SimFile {
        SimFile { machine, handle: unique(), writable, counters: Counters::default() }
    }

    /// The state, for a change.
    fn change(&self) -> Result<MutexGuard<'_, DiskState>> {
        if self.writable { Ok(self.machine.state()) } else { Err(Error::ReadOnly) }
    }

    fn try_lock(&self, alone: bool) -> bool {
        let mut state = self.machine.state();
        let others = |&(handle, theirs): &(u64, bool)| handle != self.handle && (alone || theirs);
        if state.holders.iter().any(others) {
            return false;
        }
        state.holders.retain(|&(handle, _)| handle != self.handle);
        state.holders.push((self.handle, alone));
        true
    }
}

impl Storage for SimFile {
    fn file_bytes(&self) -> Result<u64> {
        Ok(self.machine.state().file_bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let state = self.machine.state();
        let bytes = state.file_bytes.saturating_sub(offset).min(buffer.len() as u64) as usize;
        if bytes > 0 {
            self.machine.map.copy_out(offset, &mut buffer[..bytes]);
        }
        Ok(bytes)
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> Result<()> {
        let mut state = self.change()?;
        let bytes = parts_bytes(parts);
        if offset.checked_add(bytes).is_none_or(|end| end > state.file_bytes) {
            return Err(past_end(offset, bytes, state.file_bytes));
        }
        self.machine.put(&mut state, &parts.concat(), offset);
        self.counters.wrote(bytes);
        seen(&self.machine, state);
        Ok(())
    }

    fn view(&self, offset: u64, bytes: usize) -> Option<ViewPage> {
        let mut state = self.change().ok()?;
        offset.checked_add(bytes as u64).filter(|&end| end <= state.file_bytes)?;
        // A half-edited page may leave this on the disk.
        self.machine.put(&mut state, &vec![SCRIBBLE; bytes], offset);
        self.counters.stored(bytes as u64);
        seen(&self.machine, state);
        let machine = Arc::clone(&self.machine);
        let page = SimPage { machine, offset, bytes: vec![0; bytes] };
        Some((Box::new(page) as SimulatedPage).into())
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.machine.state();
        if state.loss.as_mut().is_some_and(|loss| !loss.sync()) {
            state.note(|| Event::SyncLost);
            return Err(Error::io("flush", "", device_failed()));
        }
        state.note(|| Event::Sync);
        self.counters.synced();
        seen(&self.machine, state);
        Ok(())
    }

    fn flushes_at_once(&self) -> bool {
        // Schedules are to have the waits in them.
        !cfg!(shuttle)
    }

    fn grow(&self, bytes: u64) -> Result<()> {
        let mut state = self.change()?;
        let from = state.file_bytes;
        if bytes > self.machine.map.bytes() {
            return Err(Error::map_full(self.map().bytes(), bytes));
        }
        if bytes > from {
            // Cut bytes were zeroed when they were cut, the rest was never written.
            state.file_bytes = bytes;
            state.modified = next_time(state.modified);
            state.note(|| Event::Grow { from, to: bytes });
            self.counters.grew();
            seen(&self.machine, state);
        }
        Ok(())
    }

    fn shrink(&self, bytes: u64) -> Result<()> {
        let mut state = self.change()?;
        let from = state.file_bytes;
        if bytes < from {
            if let Some(loss) = &mut state.loss {
                loss.cut(bytes);
            }
            self.machine.map.zero(bytes..from);
            state.file_bytes = bytes;
            state.modified = next_time(state.modified);
            state.note(|| Event::Shrink { from, to: bytes });
            seen(&self.machine, state);
        }
        Ok(())
    }

    fn map(&self) -> &Arc<Map> {
        &self.machine.map
    }

    fn writable(&self) -> bool {
        self.writable
    }

    fn identity(&self) -> Result<Identity> {
        Ok(self.machine.identity())
    }

    fn try_alone(&self) -> Result<bool> {
        Ok(self.writable && self.try_lock(true))
    }

    fn try_join(&self) -> Result<bool> {
        Ok(self.try_lock(false))
    }

    fn leave(&self) -> Result<()> {
        self.machine.state().holders.retain(|&(handle, _)| handle != self.handle);
        Ok(())
    }

    fn has_others(&self) -> Result<bool> {
        Ok(self.machine.state().holders.iter().any(|&(handle, _)| handle != self.handle))
    }

    fn modified(&self) -> Result<u64> {
        Ok(self.machine.state().modified)
    }

    fn forget_cache(&self) {
        let mut state = self.machine.state();
        for (offset, disk) in state.loss.iter_mut().flat_map(Loss::forget_cache) {
            self.machine.map.write(offset, &disk);
        }
    }

    fn counts(&self) -> IoCounts {
        self.counters.get()
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.machine.state().holders.retain(|&(handle, _)| handle != self.handle);
    }
}
