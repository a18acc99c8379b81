//! Huon measured beside other engines. `suite` runs every workload on every engine; `get` and
//! `commits` are quick comparisons, and `calls` compares the interfaces in C and Rust.

mod cage;
#[cfg(engine_huon)]
mod calls;
#[cfg(engine_huon)]
mod commits;
mod data;
mod engine;
mod get;
mod machine;
mod measure;
mod programs;
mod record;
#[cfg(test)]
mod records_test;
mod report;
#[cfg(test)]
mod smoke;
mod suite;
mod workload;

use clap::{Parser, Subcommand};
use engine::{Engine, Result, Visit};
use measure::{Order, Session};

#[derive(Parser)]
#[command(name = "huon-bench", about = "Measure Huon beside other engines")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Every workload on every engine, or some of them
    Suite(suite::Args),
    /// A page of tables and charts of a run's lines
    Report(report::Args),
    /// The workloads and the engines
    List,
    /// One workload on one engine, in this process; prints lines of JSON
    #[command(hide = true)]
    Run(Order),
    /// One of the processes of a workload that has several
    #[command(hide = true)]
    Writer(workload::processes::Writer),
    /// Random lookups, beside LMDB's
    Get(get::Args),
    /// What a call through the C interface of LMDB costs over the same call in Rust
    #[cfg(engine_huon)]
    Calls(calls::Args),
    /// One-put commits of Huon by threads and by processes
    #[cfg(engine_huon)]
    Commits(commits::Commits),
    #[cfg(engine_huon)]
    #[command(hide = true)]
    CommitWorker(commits::Worker),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Suite(args) => suite::run(&args),
        Command::Report(args) => report::run(&args),
        Command::List => suite::list(),
        Command::Run(order) => engine::visit(&order.engine.clone(), Child(&order))?,
        Command::Writer(writer) => workload::processes::write(&writer),
        Command::Get(args) => get::run(&args),
        #[cfg(engine_huon)]
        Command::Calls(args) => calls::run(&args),
        #[cfg(engine_huon)]
        Command::Commits(args) => commits::run(&args),
        #[cfg(engine_huon)]
        Command::CommitWorker(worker) => commits::work(&worker),
    }
}

/// What the child of a suite does.
struct Child<'o>(&'o Order);

impl Visit for Child<'_> {
    type Out = Result<()>;

    fn visit<E: Engine>(self) -> Result<()> {
        let mut out = std::io::stdout().lock();
        workload::run::<E>(&mut Session::new::<E>(self.0, &mut out))
    }
}
