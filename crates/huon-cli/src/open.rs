//! Opening the environment that a command names.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use huon::{Capture, Env, ReadTxn, Recovery};

use crate::args::Writing;
use crate::fail::{Code, Failure, Outcome};
use crate::text::Form;

/// Opens a file to look at it: nothing is written, and nothing made but a missing lock file.
pub(crate) fn look(path: &Path) -> Result<Env, Failure> {
    Ok(told(path, quietly(path)?))
}

/// The same without a word about what is found.
pub(crate) fn quietly(path: &Path) -> huon::Result<Env> {
    Env::options().read_only(true).create(false).open(path)
}

/// The same while no other process has the file open.
pub(crate) fn alone(path: &Path) -> huon::Result<Env> {
    Env::options().read_only(true).create(false).exclusive(true).open(path)
}

/// The same from the meta in a slot of the user's choice; then no other process may have the file
/// open.
pub(crate) fn look_from(path: &Path, meta_slot: Option<u8>) -> Result<Env, Failure> {
    let Some(slot) = meta_slot else { return look(path) };
    let mut options = Env::options();
    options.read_only(true).create(false).exclusive(true).meta_slot(slot);
    Ok(options.open(path)?)
}

/// The snapshot of a name, or the newest.
pub(crate) fn read(env: &Env, snapshot: Option<&str>) -> Result<ReadTxn, Failure> {
    match snapshot {
        Some(name) => Ok(named(env, name)?.into_txn()),
        None => Ok(env.read()?),
    }
}

/// The snapshot of a name.
pub(crate) fn named(env: &Env, name: &str) -> Result<Capture, Failure> {
    let none = || Failure::Told(Code::Problems, no_snapshot(name));
    env.named_snapshot(name)?.ok_or_else(none)
}

/// What is said where no snapshot has the name.
pub(crate) fn no_snapshot(name: &str) -> String {
    format!("no snapshot is named \"{}\"; `huon snapshots` lists them.", name.escape_debug())
}

/// Says so if the file does not show its newest snapshot: whatever follows is not the whole truth.
fn told(path: &Path, env: Env) -> Env {
    if is_stepped_back(&env) {
        let path = path.display();
        tell!("huon: {path}: the newest snapshot is damaged; this is the one before it.");
    }
    env
}

pub(crate) fn is_stepped_back(env: &Env) -> bool {
    env.recovery() == Recovery::SteppedBack
}

/// Opens a file to change it, and creates it if that is wanted.
pub(crate) fn change(path: &Path, writing: &Writing, create: bool) -> Result<Env, Failure> {
    let mut options = Env::options();
    options.create(create).lock_timeout(Duration::from_secs(writing.wait));
    if let Some(bytes) = writing.page_size {
        options.page_bytes(bytes);
    }
    Ok(told(path, options.open(path)?))
}

/// Lets `work` change the environment, which is made if it does not exist. Files that were made for
/// it are removed if it fails before it has committed anything.
pub(crate) fn make_and_change(
    path: &Path,
    writing: &Writing,
    work: impl FnOnce(&Env) -> Outcome,
) -> Outcome {
    let is_new =
        std::fs::symlink_metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    let env = change(path, writing, true)?;
    let outcome = work(&env);
    drop(env);
    if is_new && outcome.is_err() {
        // The failure that is reported says more than this one could.
        let _ = Env::delete_unused(path);
    }
    outcome
}

/// The name that `--table` gives; empty for the main table.
pub(crate) fn name(table: Option<&OsStr>) -> Result<Vec<u8>, Failure> {
    table.map_or(Ok(Vec::new()), |name| Form::Plain.argument("table name", name))
}
