//! Opening and closing, in every way; and machines and processes that stop.

use std::collections::BTreeMap;

use huon::{Env, Error, Recovery};

use crate::history::machine::GUEST;
use crate::history::program::Reopening;
use crate::history::{History, Step, Stop};

impl History {
    pub(crate) fn env(&mut self, client: u8) -> Env {
        self.client = self.machine.present(client);
        self.machine.clients[self.client].env.clone().expect("client 0 is always open")
    }

    pub(crate) fn open(&mut self, client: usize) -> huon::Result<Recovery> {
        self.open_as(client, Reopening::Same)
    }

    fn open_as(&mut self, client: usize, how: Reopening) -> huon::Result<Recovery> {
        self.machine.open_as(client, how, &self.config, &self.readers)
    }

    /// The process that may not write ends.
    fn end_guest(&mut self) {
        self.readers.end_of(GUEST);
        self.machine.guest = None;
    }

    /// Closes a client with everything that belongs to it; what it counted is kept.
    fn close(&mut self, client: usize) -> huon::Result<()> {
        self.close_as(client, |env| env.close().map(drop))
    }

    fn close_as(
        &mut self,
        client: usize,
        close: impl FnOnce(Env) -> huon::Result<()>,
    ) -> huon::Result<()> {
        if let Some(env) = &self.machine.clients[client].env {
            let io = env.info()?.io;
            for (what, count) in [
                ("spill", io.spills),
                ("leaf split", io.leaf_splits),
                ("branch split", io.branch_splits),
                ("leaf merge", io.leaf_merges),
                ("branch merge", io.branch_merges),
                ("root raised", io.roots_raised),
                ("root lowered", io.roots_lowered),
                ("chunks written", io.free_list_pages_written),
                ("chunks opened", io.free_list_pages_read),
            ] {
                self.counts.add(what, count);
            }
        }
        self.readers.end_of(client);
        self.handles.retain(|(owner, ..), _| *owner != client);
        self.scans.end_of(client);
        self.machine.clients[client].env.take().map_or(Ok(()), close)
    }

    pub(crate) fn reopen(&mut self, client: usize, how: Reopening) -> Step {
        if self.machine.clients[client].env.is_none() {
            return Ok(());
        }
        match how {
            Reopening::Dirty => self.close_as(client, |env| {
                env.close_without_flush();
                Ok(())
            })?,
            _ => self.close(client)?,
        }
        if how == Reopening::ReadOnly {
            self.read_only(client)?;
        }
        let recovery = match how {
            Reopening::ReadOnly => self.open(client)?,
            Reopening::Exclusive => {
                self.end_guest();
                self.open_alone(client)?
            }
            how => self.open_as(client, how)?,
        };
        self.may_be_unflushed |= how == Reopening::Dirty;
        match recovery {
            Recovery::Clean => {}
            Recovery::Newest if self.may_be_unflushed => self.unclean = true,
            _ if self.unclean => {}
            _ => return Err(Stop::Fail(format!("reopened as {recovery:?}"))),
        }
        self.may_be_unflushed &= self.machine.clients[1 - client].env.is_some();
        self.may_be_unflushed |= how == Reopening::Unsynced;
        self.counts.add("reopen", 1);
        if self.machine.guest.is_some() && self.machine.clients[1 - client].env.is_none() {
            self.counts.add("reopen beside a guest", 1);
        }
        match how {
            Reopening::Same => {}
            Reopening::NoMetaSync => self.counts.add("reopen without meta syncs", 1),
            Reopening::Lazy => self.counts.add("reopen lazy", 1),
            Reopening::Unsynced => self.counts.add("reopen unsynced", 1),
            Reopening::Dirty => self.counts.add("close dirty", 1),
            Reopening::ReadOnly => self.counts.add("reopen read-only", 1),
            Reopening::Exclusive => self.counts.add("reopen exclusive", 1),
        }
        self.note_state()?;
        self.settled(true)
    }

    /// A look at a file that is open for reading only.
    fn read_only(&mut self, client: usize) -> Step {
        self.open_as(client, Reopening::ReadOnly)?;
        let env = self.env(client as u8);
        if !matches!(env.write(), Err(Error::ReadOnly)) {
            return Err(Stop::Fail("a client that may only read may write".into()));
        }
        let txn = env.read()?;
        self.committed.compare(&txn).map_err(|what| format!("opened read-only: {what}"))?;
        drop((txn, env));
        self.close(client)?;
        Ok(())
    }

    /// Opens alone, which is refused where another client has the file open.
    fn open_alone(&mut self, client: usize) -> Result<Recovery, Stop> {
        if self.machine.clients[1 - client].env.is_none() {
            return Ok(self.open_as(client, Reopening::Exclusive)?);
        }
        match self.open_as(client, Reopening::Exclusive) {
            Err(Error::Busy(_)) => self.counts.add("exclusive refused", 1),
            Err(error) => return Err(error.into()),
            Ok(_) => return Err(Stop::Fail("two have the file alone".into())),
        }
        Ok(self.open(client)?)
    }

    pub(crate) fn second(&mut self) -> Step {
        if self.machine.clients[1].env.is_some() {
            self.close(1)?;
        } else if !self.machine.clients[0].exclusive {
            self.open(1)?;
            self.counts.add("second client", 1);
        }
        Ok(())
    }

    /// Every process dies; the machine goes on.
    pub(crate) fn kill(&mut self) -> Step {
        let Some(left) = self.machine.after_kill()? else {
            return self.reopen(0, Reopening::Same);
        };
        self.close_all()?;
        self.machine.go_on(left);
        let recovery = self.open(0)?;
        let was_unclean = std::mem::replace(&mut self.unclean, recovery != Recovery::Clean);
        self.counts.add("kill", 1);
        if !was_unclean && !matches!(recovery, Recovery::Newest | Recovery::Clean) {
            return Err(Stop::Fail(format!("opened as {recovery:?} after a kill")));
        }
        let txn = self.env(0).read()?;
        self.committed.compare(&txn).map_err(|what| format!("after a kill: {what}"))?;
        drop(txn);
        History::compare_names(&self.env(0), &self.committed, true)?;
        self.check_limits()?;
        self.note_state()
    }

    pub(crate) fn close_all(&mut self) -> huon::Result<()> {
        self.end_guest();
        self.close(1)?;
        self.close(0)
    }

    /// The machine stops; a part of what was not flushed reaches the disk.
    pub(crate) fn power_loss(&mut self, seed: u64) -> Step {
        let durable = self.env(0).durable_id();
        let Some(left) = self.machine.after_power_loss(seed)? else {
            return self.reopen(0, Reopening::Same);
        };
        self.close_all()?;
        self.machine.go_on(left);
        let recovery = self.open(0)?;
        self.unclean = recovery != Recovery::Clean;
        self.counts.add("power loss", 1);
        let env = self.env(0);
        let txn = env.read()?;
        let id = txn.id();
        let mut owed = self.commits.range(durable..).rev().map(|(_, model)| model);
        // An opening that replays a journal repairs, which takes another id. Commits may differ by
        // their limits alone.
        let limits = Some(env.info()?.geometry);
        let replayed = owed.find(|model| {
            self.config.journal
                && model.geometry == limits
                && model.compare(&txn).is_ok()
                && History::compare_names(&env, model, false).is_ok()
        });
        let Some(model) = self.commits.get(&id).filter(|_| id >= durable).or(replayed) else {
            let known: Vec<u64> = self.commits.keys().copied().collect();
            return Err(Stop::Fail(format!(
                "a power loss led to snapshot {id} ({recovery:?}), durable {durable}, \
                 known {known:?}"
            )));
        };
        model.compare(&txn).map_err(|what| format!("after a power loss, {recovery:?}: {what}"))?;
        self.committed = model.clone();
        self.commits = BTreeMap::from([(txn.id(), model.clone())]);
        drop(txn);
        let named = History::compare_names(&env, &self.committed, true);
        named.map_err(|what| format!("after a power loss, {recovery:?}: {what}"))?;
        crate::support::audit::audit(&env)?;
        Ok(self.check_limits()?)
    }
}
