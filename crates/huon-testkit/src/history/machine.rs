//! The machine that a history runs on, and the processes that have the file open there.

use huon::sim::SimDisk;
use huon::{Durability, Env, Options, ReadTxn, Recovery};

use crate::history::Counts;
use crate::history::program::{Answer, Config, Reopening};
use crate::history::readers::Readers;
use crate::support::random::Random;
use crate::support::trail::Trail;

/// How long the file may become, where nothing else is said.
pub(crate) const RESERVE_BYTES: u64 = 64 << 20;

/// Small: a history has checkpoints.
const JOURNAL_BYTES: u64 = 16 * 4096;

/// The number of the client that may not write.
pub(crate) const GUEST: usize = 2;

/// A machine, simulated or real, and the clients on it.
pub(crate) struct Machine {
    ground: Ground,
    /// What was done to the simulated disk.
    trail: Trail,
    pub(crate) clients: [Client; 2],
    /// A process that may not write, if it has the file open.
    pub(crate) guest: Option<Env>,
}

/// What a kill or a power loss leaves of a simulated machine.
pub(crate) struct Left {
    disk: SimDisk,
    trail: Trail,
}

/// What environments are opened on.
enum Ground {
    Simulated(SimDisk),
    Real(tempfile::TempDir),
}

/// One of the clients that have the file open.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) env: Option<Env>,
    /// What it says of slow readers, and whether also where the file could grow.
    pub(crate) slow: (Answer, bool),
    /// No other may have the file open.
    pub(crate) exclusive: bool,
}

impl Machine {
    pub(crate) fn new(real: bool) -> Result<Machine, String> {
        let ground = if real {
            tempfile::tempdir().map(Ground::Real).map_err(|e| e.to_string())?
        } else {
            SimDisk::new(RESERVE_BYTES).map(Ground::Simulated).map_err(|e| e.to_string())?
        };
        let clients = Default::default();
        Ok(Machine { ground, trail: Trail::default(), clients, guest: None })
    }

    /// The client, if it has the file open, and the first one otherwise.
    pub(crate) fn present(&self, client: u8) -> usize {
        match self.clients.get(usize::from(client)) {
            Some(Client { env: Some(_), .. }) => usize::from(client),
            _ => 0,
        }
    }

    pub(crate) fn open_as(
        &mut self,
        client: usize,
        how: Reopening,
        config: &Config,
        readers: &Readers,
    ) -> huon::Result<Recovery> {
        let mut options: Options = Env::options();
        options
            .page_bytes(config.page_bytes)
            .max_bytes(RESERVE_BYTES)
            .grow_bytes(16 * config.page_bytes as u64)
            .shrink_bytes(config.shrink_bytes)
            .write_buffer_bytes(config.write_buffer_bytes)
            .durability(match how {
                Reopening::NoMetaSync => Durability::NoMetaSync,
                Reopening::Lazy => Durability::Lazy,
                Reopening::Unsynced => Durability::Unsynced,
                _ => Durability::Durable,
            })
            .flush_after_bytes(match how {
                Reopening::Lazy => 300 * config.page_bytes as u64,
                _ => u64::MAX,
            })
            .read_only(how == Reopening::ReadOnly)
            .exclusive(how == Reopening::Exclusive);
        if config.journal {
            options.journal(JOURNAL_BYTES);
        }
        let client = &mut self.clients[client];
        let (answer, early) = client.slow;
        if answer != Answer::None {
            options.on_slow_reader(readers.callback(answer));
        }
        let env = match &self.ground {
            Ground::Simulated(disk) => options.open_simulated(disk)?,
            Ground::Real(dir) => options.open(dir.path().join("history.huon"))?,
        };
        let mut settings = env.settings();
        settings.slow_readers_before_growing = early;
        env.set_settings(settings);
        let recovery = env.recovery();
        (client.env, client.exclusive) = (Some(env), how == Reopening::Exclusive);
        Ok(recovery)
    }

    /// Whether there is a process that may not write. It opens the file if it has not: on simulated
    /// machines, and where no client has the file alone.
    pub(crate) fn has_guest(&mut self, counts: &mut Counts) -> huon::Result<bool> {
        let Ground::Simulated(disk) = &self.ground else { return Ok(false) };
        if self.guest.is_none() && self.clients.iter().all(|client| !client.exclusive) {
            let mut options = Env::options();
            options.max_bytes(RESERVE_BYTES).read_only(true);
            self.guest = Some(options.open_simulated_to_read(disk)?);
            counts.add("guest", 1);
        }
        Ok(self.guest.is_some())
    }

    /// A read transaction of a client that is open, or of the guest.
    pub(crate) fn read(&self, client: usize) -> huon::Result<ReadTxn> {
        let env = if client == GUEST { &self.guest } else { &self.clients[client].env };
        env.as_ref().expect("an open client").read()
    }

    /// Takes over what happened to the simulated disk.
    pub(crate) fn follow(&mut self, counts: &mut Counts) {
        if let Ground::Simulated(disk) = &self.ground {
            self.trail.follow(disk);
            counts.add("grow", std::mem::take(&mut self.trail.grown));
            counts.add("shrink", std::mem::take(&mut self.trail.shrunk));
        }
    }

    /// What a kill of all processes leaves: the disk as they see it, and the lock file. `None`: a
    /// kill cannot be tried here.
    pub(crate) fn after_kill(&mut self) -> huon::Result<Option<Left>> {
        let Ground::Simulated(disk) = &self.ground else { return Ok(None) };
        self.trail.follow(disk);
        Ok(Some(Left { disk: disk.after_kill(None)?, trail: std::mem::take(&mut self.trail) }))
    }

    /// What a power loss leaves: some part of what was not flushed, and the lock file at times.
    pub(crate) fn after_power_loss(&mut self, seed: u64) -> huon::Result<Option<Left>> {
        let Ground::Simulated(disk) = &self.ground else { return Ok(None) };
        self.trail.follow(disk);
        let mut random = Random::new(seed);
        let files = self.trail.random_image(&mut random);
        let next = disk.after_crash(&files.data, false)?;
        let mut next = next.with_journal_image(&files.journal);
        if random.chance(50) {
            next = next.with_lock_image(&disk.lock_image());
        }
        Ok(Some(Left { disk: next, trail: Trail::starting_from(files) }))
    }

    /// Goes on with what was left, once all clients are closed.
    pub(crate) fn go_on(&mut self, left: Left) {
        (self.ground, self.trail) = (Ground::Simulated(left.disk), left.trail);
    }
}
