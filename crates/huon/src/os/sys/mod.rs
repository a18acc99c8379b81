//! The seam to the system: what `os` asks of it, by plain functions, chosen when it is compiled.
//!
//! Nothing else in the engine asks which system it is built for (`make lint` looks for it). A new
//! system is a module here with the same functions, and `unix` shows which. The module for Linux
//! documents what each function must do; where a system lacks the means, `plain` has a replacement:
//!
//! - no locks on bytes of an open file: whole files are locked (`locks`, P6);
//! - no sleeping on a word: callers look again after a millisecond;
//! - no number of the boot: zeros, and then a lock file is not believed after a kill;
//! - no allocation of blocks: zeros are written;
//! - no files in memory: one is made among temporary files, and its name removed.

#[cfg(not(unix))]
compile_error!("Huon runs on Unix systems only as yet: this system has no module in `os::sys`");

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "the processes of an environment share words of 64 bits, and this processor cannot change one \
     in one step: Huon is not built for it"
);

#[cfg(unix)]
mod unix;

#[cfg(unix)]
pub(crate) use unix::*;
