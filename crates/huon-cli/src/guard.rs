//! What is written never takes the place of what is read, nor of an environment.
//!
//! By identity, not by name: a hard link, a symbolic link or a redirection leads to the same file.

use std::fs::{self, File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{io, iter};

use huon::{Env, FileKind};

use crate::fail::{Code, Failure};

/// A file, whatever it is called.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64);

impl Identity {
    fn of(found: &Metadata) -> Identity {
        Identity(found.dev(), found.ino())
    }

    fn at(path: &Path) -> Option<Identity> {
        fs::metadata(path).ok().as_ref().map(Identity::of)
    }
}

/// The files of the environment at `env`, those that are there.
fn own(env: &Path) -> impl Iterator<Item = Identity> {
    let beside = [Env::lock_path(env), Env::journal_path(env)];
    iter::once(Identity::at(env)).chain(beside.map(|path| Identity::at(&path))).flatten()
}

/// Refuses an output that is a file of the environment at `env`, or of any other.
pub(crate) fn output(env: &Path, target: &Path) -> Result<(), Failure> {
    if target.as_os_str() == "-" {
        return Ok(());
    }
    let name = target.display();
    refuse_own(env, target, "the output")?;
    match Env::kind_of(target) {
        Ok(FileKind::Environment) => Err(Failure::usage(format!(
            "{name} is an environment, and a text would take its place; choose another name, or \
             delete it with `huon delete-env` before."
        ))),
        Ok(FileKind::LockFile | FileKind::Journal) => Err(lock_file(target)),
        // The write itself reports what else is in its way.
        _ => Ok(()),
    }
}

/// The same for a copy, which may take the place of another environment.
pub(crate) fn copy(env: &Path, target: &Path) -> Result<(), Failure> {
    refuse_own(env, target, "the copy")?;
    if let Ok(FileKind::LockFile | FileKind::Journal) = Env::kind_of(target) {
        return Err(lock_file(target));
    }
    let lock = Env::lock_path(target);
    let is_ours = || matches!(Env::kind_of(&lock), Ok(FileKind::LockFile));
    match fs::symlink_metadata(&lock) {
        Ok(found) if found.len() > 0 && !is_ours() => Err(Failure::usage(format!(
            "{} would be the lock file of the copy and is something else; choose another name.",
            lock.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses to read records from a file of the environment that they are for.
pub(crate) fn input(env: &Path, source: &Path) -> Result<(), Failure> {
    if source.as_os_str() == "-" {
        refuse_stream(env, &io::stdin(), "standard input")
    } else {
        refuse_own(env, source, "the input")
    }
}

/// Refuses to print into a file of the environment that a command is about.
pub(crate) fn streams(env: &Path) -> Result<(), Failure> {
    refuse_stream(env, &io::stdout(), "standard output")?;
    refuse_stream(env, &io::stderr(), "standard error")
}

fn refuse_own(env: &Path, path: &Path, what: &str) -> Result<(), Failure> {
    match Identity::at(path) {
        Some(found) if own(env).any(|own| own == found) => {
            let (path, env) = (path.display(), env.display());
            let text = format!(
                "{what}, {path}, is a file of the environment {env} itself; nothing was changed."
            );
            Err(Failure::Told(Code::Usage, text))
        }
        _ => Ok(()),
    }
}

fn refuse_stream(env: &Path, stream: &impl AsFd, what: &str) -> Result<(), Failure> {
    let copy = stream.as_fd().try_clone_to_owned().map(File::from);
    let Some(found) = copy.and_then(|file| file.metadata()).ok() else { return Ok(()) };
    if !own(env).any(|own| own == Identity::of(&found)) {
        return Ok(());
    }
    let env = env.display();
    let text = match found.len() {
        // `>` has done so before this began: there is nothing left to keep.
        0 => format!("{what} is a file of the environment {env} itself, and the shell emptied it."),
        _ => format!("{what} is a file of the environment {env} itself; nothing was changed."),
    };
    Err(Failure::Told(Code::Usage, text))
}

fn lock_file(path: &Path) -> Failure {
    let path = path.display();
    Failure::usage(format!(
        "{path} is a lock file or a journal, or the name of one; choose another name."
    ))
}
