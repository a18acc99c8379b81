//! A journal whose calls fail as a plan says.

use super::{FaultCall, FaultPlan, at, fault};
use crate::error::Result;
use crate::os::{IoCounts, JournalFile};
use crate::sim::SimDisk;

/// See the module.
pub(crate) struct FaultyJournal {
    disk: SimDisk,
    inner: Box<dyn JournalFile>,
    plan: FaultPlan,
}

impl FaultyJournal {
    /// The journal of `disk`, failing as `plan` says.
    pub(crate) fn new(disk: &SimDisk, plan: FaultPlan) -> FaultyJournal {
        FaultyJournal { disk: disk.clone(), inner: disk.journal(), plan }
    }
}

impl JournalFile for FaultyJournal {
    fn bytes(&self) -> Result<u64> {
        self.plan.pass(FaultCall::JournalLength, String::new)?;
        self.inner.bytes()
    }

    fn make(&self, bytes: u64) -> Result<()> {
        self.plan.pass(FaultCall::JournalMake, String::new)?;
        self.inner.make(bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.plan.pass(FaultCall::JournalRead, || at(offset))?;
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, blocks: &[u8], offset: u64) -> Result<()> {
        let Some((errno, torn)) = self.plan.count_call(FaultCall::JournalWrite) else {
            return self.inner.write_at(blocks, offset);
        };
        let written = &blocks[..torn.of(blocks.len())];
        if !written.is_empty() {
            self.inner.write_at(written, offset)?;
        }
        Err(fault(FaultCall::JournalWrite, at(offset), errno))
    }

    fn sync(&self) -> Result<()> {
        let passed = self.plan.pass(FaultCall::JournalSync, String::new);
        passed.inspect_err(|_| self.disk.lose_journal())?;
        self.inner.sync()
    }

    fn delete(&self) -> Result<()> {
        self.inner.delete()
    }

    fn counts(&self) -> IoCounts {
        self.inner.counts()
    }
}
