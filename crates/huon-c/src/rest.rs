//! Read transactions at rest: reset, which see nothing until they are renewed, and parked, which a
//! writer in need of pages may break.

use std::sync::atomic::Ordering;

use crate::fault::{Fault, Res};
use crate::inside::Reader;
use crate::threads::me;
use crate::txn::{Txn, check_overlap};

impl Reader {
    /// Whether it has a snapshot, or may have it again.
    pub(crate) fn is_live(&self) -> bool {
        self.txn.is_some() || self.parked.is_some()
    }

    /// Lets go of the snapshot; whether there was one.
    pub(crate) fn let_go(&mut self) -> bool {
        let was_live = self.is_live();
        (self.txn, self.resting, self.parked) = (None, None, None);
        was_live
    }
}

impl Txn {
    /// Lets go of the snapshot, and may have another one later.
    pub fn reset(&self) -> Res<()> {
        let mut reader = self.reader()?;
        if reader.is_live() {
            self.check_thread()?;
            self.lay_down(&mut reader);
        }
        Ok(())
    }

    fn lay_down(&self, reader: &mut Reader) {
        self.note_change(reader);
        reader.resting = reader.txn.take().map(|txn| txn.rest());
        (reader.parked, reader.is_reset) = (None, true);
        reader.end(&self.env, true);
    }

    /// Takes the newest snapshot, after [`Txn::reset`].
    pub fn renew(&self) -> Res<()> {
        let mut reader = self.resting_reader()?;
        if self.is_dead() && !reader.is_reset {
            return Err(Fault::Panic);
        }
        self.begin_anew(&mut reader)
    }

    fn begin_anew(&self, reader: &mut Reader) -> Res<()> {
        if self.env.is_closed() {
            return Err(Fault::BadTxn);
        }
        if reader.is_live() || !reader.is_reset {
            return Err(Fault::Invalid);
        }
        check_overlap(&self.env, self.overlaps)?;
        if self.is_dead() {
            // It rested in the parent, and was counted there. In this process all counts begin anew
            // at the first look at the rules.
            self.env.rules()?;
            std::mem::forget(reader.resting.take());
            self.env.live.fetch_add(1, Ordering::AcqRel);
            self.env.readers.begin_rest();
            self.adopt();
        }
        // No cursor has seen anything in it since it was laid down, which was noted.
        reader.start(&self.env, self.env_handle)?;
        reader.has_failed = false;
        if self.thread.load(Ordering::Relaxed) != 0 {
            self.thread.store(me(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Lets a writer that needs its pages take them, until it is used again: any use counts if it
    /// comes `back_by_itself`, else only [`Txn::unpark`].
    pub fn park(&self, back_by_itself: bool) -> Res<()> {
        if self.is_write() {
            return Err(Fault::BadTxn);
        }
        let mut reader = self.reader()?;
        self.check()?;
        if reader.has_failed {
            return Err(Fault::BadTxn);
        }
        if let Some((_, back)) = &mut reader.parked {
            *back = back_by_itself;
            return Ok(());
        }
        let txn = *reader.txn.take().ok_or(Fault::Reset)?;
        self.note_change(&mut reader);
        match txn.park() {
            Ok(parked) => {
                reader.parked = Some((parked, back_by_itself));
                Ok(())
            }
            Err(error) => {
                self.lay_down(&mut reader);
                Err(error.into())
            }
        }
    }

    /// Comes back to it. If it was broken, it sees the newest snapshot if it is to `begin_anew`;
    /// whether that was so.
    pub fn unpark(&self, begin_anew: bool) -> Res<bool> {
        let mut reader = self.reader()?;
        self.check()?;
        match self.come_back(&mut reader) {
            Err(Fault::Evicted) if begin_anew => self.begin_anew(&mut reader).map(|()| true),
            result => result.map(|()| false),
        }
    }

    /// Refuses what is to be used and cannot; comes back to what does so by itself.
    #[inline]
    pub(crate) fn wake(&self, reader: &mut Reader) -> Res<()> {
        match &reader.parked {
            _ if reader.has_failed => Err(Fault::BadTxn),
            None => Ok(()),
            Some((_, false)) => Err(Fault::BadTxn),
            Some((_, true)) => self.come_back(reader),
        }
    }

    #[cold]
    fn come_back(&self, reader: &mut Reader) -> Res<()> {
        let Some((parked, _)) = reader.parked.take() else { return reader.txn().map(drop) };
        match parked.unpark() {
            Ok(txn) => {
                reader.txn = Some(Box::new(txn));
                Ok(())
            }
            Err(error) => {
                self.lay_down(reader);
                Err(error.into())
            }
        }
    }
}
