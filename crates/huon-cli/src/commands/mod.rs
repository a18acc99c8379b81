//! One module a command, or a few small ones that belong together.

mod backup;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod copy;
mod delete_env;
mod diff;
pub(crate) mod dump;
mod guide;
pub(crate) mod info;
mod input;
mod list;
pub(crate) mod load;
mod lsm;
pub(crate) mod metas;
mod pages;
mod pairs;
pub(crate) mod readers;
mod records;
mod remote;
mod show;
mod snapshots;
pub(crate) mod stat;
pub(crate) mod tables;

use crate::args::Command;
use crate::fail::Outcome;

/// Runs a command.
pub(crate) fn run(command: Command) -> Outcome {
    match command {
        Command::Info(args) => info::info(&args),
        Command::Stat(args) => stat::stat(&args),
        Command::Pages(args) => pages::pages(&args),
        Command::Tables(args) => info::tables(&args),
        Command::Readers(args) => readers::readers(&args),
        Command::WatchReaders(args) => readers::watch(&args),
        Command::Drop(args) => tables::drop(&args),
        Command::Rename(args) => tables::rename(&args),
        Command::Get(args) => records::get(&args),
        Command::Put(args) => records::put(&args),
        Command::Del(args) => records::del(&args),
        Command::Ls(args) => list::ls(&args),
        Command::Count(args) => records::count(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Check(args) => check::check(&args),
        Command::Metas(args) => metas::metas(&args),
        Command::SwitchMeta(args) => metas::switch(&args),
        Command::Dump(args) => dump::dump(&args),
        Command::Load(args) => load::load(&args),
        Command::Copy(args) => copy::copy(&args),
        Command::Snapshots(args) => snapshots::list(&args),
        Command::NameSnapshot(args) => snapshots::name(&args),
        Command::DropSnapshot(args) => snapshots::drop(&args),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Ship(args) => remote::ship(&args),
        Command::Follow(args) => remote::follow(&args),
        Command::Remote(args) => remote::remote(&args),
        Command::Compact(args) => compact::compact(&args),
        Command::Lsm(args) => lsm::run(&args),
        Command::DeleteEnv(args) => delete_env::delete(&args),
        Command::Completions(args) => guide::completions(&args),
        Command::Man(args) => guide::man(&args),
    }
}
