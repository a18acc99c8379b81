//! Opening and closing, in every way; and machines and processes that stop.

use std::collections::BTreeMap;
use std::path::PathBuf;

use huon::sim::SimDisk;
use huon::{Durability, Env, Error, Options, Recovery};

use crate::history::program::{Answer, Reopening};
use crate::history::readers;
use crate::history::{History, Step, Stop};
use crate::support::random::Random;
use crate::support::trail::Trail;

/// How long the file may become, where nothing else is said.
pub(crate) const RESERVE_BYTES: u64 = 64 << 20;

/// The number of the client that may not write.
pub(crate) const GUEST: usize = 2;

/// What environments are opened on.
pub(crate) enum Ground {
    Simulated(SimDisk),
    Real(tempfile::TempDir),
}

impl Ground {
    pub(crate) fn new(real: bool) -> Result<Ground, String> {
        if real {
            tempfile::tempdir().map(Ground::Real).map_err(|e| e.to_string())
        } else {
            SimDisk::new(RESERVE_BYTES).map(Ground::Simulated).map_err(|e| e.to_string())
        }
    }
}

/// One of the clients that have the file open.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) env: Option<Env>,
    /// What it says of slow readers, and whether also where the file could grow.
    pub(crate) slow: (Answer, bool),
    exclusive: bool,
}

impl History {
    /// The client, if it has the file open, and the first one otherwise.
    pub(crate) fn present(&self, client: u8) -> usize {
        match &self.clients[usize::from(client)].env {
            Some(_) => usize::from(client),
            None => 0,
        }
    }

    pub(crate) fn env(&mut self, client: u8) -> Env {
        self.client = self.present(client);
        self.clients[self.client].env.clone().expect("client 0 is always open")
    }

    pub(crate) fn open(&mut self, client: usize) -> huon::Result<Recovery> {
        self.open_as(client, Reopening::Same)
    }

    fn open_as(&mut self, client: usize, how: Reopening) -> huon::Result<Recovery> {
        let mut options: Options = Env::options();
        options
            .page_bytes(self.config.page_bytes)
            .max_bytes(RESERVE_BYTES)
            .grow_bytes(16 * self.config.page_bytes as u64)
            .shrink_bytes(self.config.shrink_bytes)
            .write_buffer_bytes(self.config.write_buffer_bytes)
            .durability(match how {
                Reopening::NoMetaSync => Durability::NoMetaSync,
                Reopening::Lazy => Durability::Lazy,
                Reopening::Unsynced => Durability::Unsynced,
                _ => Durability::Durable,
            })
            .flush_after_bytes(match how {
                Reopening::Lazy => 300 * self.config.page_bytes as u64,
                _ => u64::MAX,
            })
            .read_only(how == Reopening::ReadOnly)
            .exclusive(how == Reopening::Exclusive);
        let (answer, early) = self.clients[client].slow;
        if answer != Answer::None {
            options.on_slow_reader(readers::callback(answer, &self.broken));
        }
        let env = match &self.ground {
            Ground::Simulated(disk) => options.open_simulated(disk)?,
            Ground::Real(dir) => options.open(path(dir))?,
        };
        let mut settings = env.settings();
        settings.slow_readers_before_growing = early;
        env.set_settings(settings);
        let recovery = env.recovery();
        let client = &mut self.clients[client];
        (client.env, client.exclusive) = (Some(env), how == Reopening::Exclusive);
        Ok(recovery)
    }

    /// The process that may not write, which opens the file if it has not: on simulated machines,
    /// and where no client has the file alone.
    pub(crate) fn guest(&mut self) -> huon::Result<Option<Env>> {
        let Ground::Simulated(disk) = &self.ground else { return Ok(None) };
        if self.guest.is_none() && self.clients.iter().all(|client| !client.exclusive) {
            let mut options = Env::options();
            options.max_bytes(RESERVE_BYTES).read_only(true);
            self.guest = Some(options.open_simulated_to_read(disk)?);
            self.counts.add("guest", 1);
        }
        Ok(self.guest.clone())
    }

    /// The process that may not write ends.
    fn end_guest(&mut self) {
        self.readers.retain(|reader| reader.client != GUEST);
        self.guest = None;
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
        if let Some(env) = &self.clients[client].env {
            let io = env.info()?.io;
            for (what, count) in [
                ("spill", io.spills),
                ("leaf split", io.leaf_splits),
                ("branch split", io.branch_splits),
                ("leaf merge", io.leaf_merges),
                ("branch merge", io.branch_merges),
                ("root raised", io.roots_raised),
                ("root lowered", io.roots_lowered),
                ("chunks written", io.chunks_written),
                ("chunks opened", io.chunks_opened),
            ] {
                self.counts.add(what, count);
            }
        }
        self.readers.retain(|reader| reader.client != client);
        self.handles.retain(|(owner, ..), _| *owner != client);
        for scan in &mut self.scans {
            if scan.as_ref().is_some_and(|scan| scan.client == client) {
                *scan = None;
            }
        }
        self.clients[client].env.take().map_or(Ok(()), close)
    }

    pub(crate) fn reopen(&mut self, client: usize, how: Reopening) -> Step {
        if self.clients[client].env.is_none() {
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
        self.may_be_unflushed &= self.clients[1 - client].env.is_some();
        self.may_be_unflushed |= how == Reopening::Unsynced;
        self.counts.add("reopen", 1);
        if self.guest.is_some() && self.clients[1 - client].env.is_none() {
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
        if self.clients[1 - client].env.is_none() {
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
        if self.clients[1].env.is_some() {
            self.close(1)?;
        } else if !self.clients[0].exclusive {
            self.open(1)?;
            self.counts.add("second client", 1);
        }
        Ok(())
    }

    /// Every process dies; the machine goes on.
    pub(crate) fn kill(&mut self) -> Step {
        let Ground::Simulated(disk) = &self.ground else { return self.reopen(0, Reopening::Same) };
        self.trail.follow(disk);
        let next = disk.after_crash(&disk.image(), true)?.with_lock_image(&disk.lock_image());
        self.close_all()?;
        self.ground = Ground::Simulated(next);
        let recovery = self.open(0)?;
        let was_unclean = std::mem::replace(&mut self.unclean, recovery != Recovery::Clean);
        self.counts.add("kill", 1);
        if !was_unclean && !matches!(recovery, Recovery::Newest | Recovery::Clean) {
            return Err(Stop::Fail(format!("opened as {recovery:?} after a kill")));
        }
        let txn = self.env(0).read()?;
        self.committed.compare(&txn).map_err(|what| format!("after a kill: {what}"))?;
        drop(txn);
        self.check_limits()?;
        self.note_state()
    }

    pub(crate) fn close_all(&mut self) -> huon::Result<()> {
        self.end_guest();
        self.close(1)?;
        self.close(0)
    }

    /// The machine stops; a part of what was not flushed reaches the disk.
    pub(crate) fn power_cut(&mut self, seed: u64) -> Step {
        let Ground::Simulated(disk) = &self.ground else { return self.reopen(0, Reopening::Same) };
        self.trail.follow(disk);
        let durable = self.clients[0].env.as_ref().map_or(0, Env::durable_id);
        let mut random = Random::new(seed);
        let image = self.trail.random_image(&mut random);
        let mut next = disk.after_crash(&image, false)?;
        if random.chance(50) {
            next = next.with_lock_image(&disk.lock_image());
        }
        self.close_all()?;
        self.ground = Ground::Simulated(next);
        self.trail = Trail::starting_from(image);
        let recovery = self.open(0)?;
        self.unclean = recovery != Recovery::Clean;
        self.counts.add("power cut", 1);
        let env = self.env(0);
        let txn = env.read()?;
        let Some(model) = self.commits.get(&txn.id()).filter(|_| txn.id() >= durable) else {
            let known: Vec<u64> = self.commits.keys().copied().collect();
            let id = txn.id();
            return Err(Stop::Fail(format!(
                "a power loss led to snapshot {id} ({recovery:?}), durable {durable}, \
                 known {known:?}"
            )));
        };
        model.compare(&txn).map_err(|what| format!("after a power loss, {recovery:?}: {what}"))?;
        self.committed = model.clone();
        self.commits = BTreeMap::from([(txn.id(), model.clone())]);
        drop(txn);
        crate::support::audit::audit(&env)?;
        Ok(self.check_limits()?)
    }
}

fn path(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("history.huon")
}
