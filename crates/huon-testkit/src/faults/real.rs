//! Real files: the ground for faults that happen below the engine, to allocations and system calls.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use huon::{Env, Error, Options};

use super::{Crash, Ground, Switch};

/// What makes things fail.
pub trait Trigger {
    /// Lets faults happen on this thread, or not.
    fn arm(&self, on: bool);
    /// How often something was made to fail.
    fn fired(&self) -> u64;
    /// See [`Ground::reads_fail`].
    fn reads_fail(&self) -> bool;
}

/// An environment in real files, in a directory that vanishes with it.
pub struct Files<T> {
    trigger: T,
    directory: tempfile::TempDir,
    /// The data file; another one after each power loss.
    path: RefCell<PathBuf>,
    cuts: RefCell<u32>,
}

impl<T: Trigger> Files<T> {
    /// An empty directory; in memory where possible, since flushes are not tested here.
    pub fn new(trigger: T) -> Files<T> {
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() {
            tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir())
        } else {
            tempfile::tempdir()
        };
        Files::of(trigger, directory.expect("a directory for an environment"))
    }

    /// An empty directory in another one.
    pub fn within(directory: &Path, trigger: T) -> Files<T> {
        Files::of(trigger, tempfile::tempdir_in(directory).expect("a directory in that one"))
    }

    fn of(trigger: T, directory: tempfile::TempDir) -> Files<T> {
        let path = RefCell::new(directory.path().join("data.huon"));
        Files { trigger, directory, path, cuts: RefCell::new(0) }
    }

    /// What makes things fail.
    pub fn trigger(&self) -> &T {
        &self.trigger
    }

    /// A copy of the data file and its journal as they are now, without a lock file: a machine that
    /// was switched off and had flushed everything by chance.
    fn cut(&self) -> PathBuf {
        *self.cuts.borrow_mut() += 1;
        let path = self.directory.path().join(format!("cut-{}.huon", self.cuts.borrow()));
        let files = |data: &Path| [data.to_owned(), Env::journal_path(data)];
        for (from, to) in files(&self.path.borrow()).iter().zip(files(&path)) {
            // There may be none yet.
            let _ = std::fs::copy(from, to);
        }
        path
    }
}

impl<T: Trigger> Switch for Files<T> {
    fn arm(&self, on: bool) {
        self.trigger.arm(on);
    }
}

impl<T: Trigger> Ground for Files<T> {
    fn open(&self, options: &Options) -> Result<Env, Error> {
        options.open(&*self.path.borrow())
    }

    fn open_healthy(&self, options: &Options) -> Result<Env, Error> {
        options.open(&*self.path.borrow())
    }

    fn open_guest(&self, _: &Options) -> Option<Result<Env, Error>> {
        // All clients are threads of one process, which may write its own files.
        None
    }

    fn reads_fail(&self) -> bool {
        self.trigger.reads_fail()
    }

    fn fired(&self) -> u64 {
        self.trigger.fired()
    }

    fn image(&self) -> Vec<u8> {
        std::fs::read(&*self.path.borrow()).unwrap_or_default()
    }

    fn after_kill(&self, _: &Options) -> Option<Result<Env, Error>> {
        None
    }

    fn after_power_loss(&self, options: &Options) -> Option<Result<Env, Error>> {
        Some(options.open(self.cut()))
    }

    fn crash(&self, how: Crash) -> bool {
        if how == Crash::PowerLoss {
            let path = self.cut();
            *self.path.borrow_mut() = path;
        }
        how == Crash::PowerLoss
    }

    fn directory(&self) -> Option<&Path> {
        Some(self.directory.path())
    }
}
