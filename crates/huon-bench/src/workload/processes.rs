//! Three processes that put into one database at the same time, each its share of the records.
//! This process works off meanwhile what they leave to be done, and writes nothing.
//!
//! A writer is this program once more. It says that it is ready, waits for a line, puts its share,
//! and says how much that was and how long the longest of its transactions took.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::debt::pay;
use super::{BATCH, NO_READS, VALUE_BYTES, check_all};
use crate::data::{Data, Keys, Order as Records};
use crate::engine::{Engine, Result, Visit, visit};
use crate::measure::{Order, Session, Timed};

const RECORDS: u32 = 3_000_000;
const WRITERS: u32 = 3;
/// The directory of the database.
const NAME: &str = "processes";

/// What one of the processes is to do.
#[derive(clap::Args)]
pub(crate) struct Writer {
    #[command(flatten)]
    order: Order,
    /// Which share it puts
    #[arg(long)]
    share: u32,
}

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    if !E::SHARED {
        return session.left_out("", "it is opened by one process at a time here");
    }
    session.without_threads::<E>();
    let data = data_of(session);
    session.describe(&data);
    let db = session.open::<E>(NAME)?;
    db.tend()?;
    let mut writers = Vec::new();
    for share in 0..WRITERS {
        writers.push(Running::start(session.order, share)?);
    }
    let stretch = session.begin()?;
    session.measure("put, 3 processes", "put", |probe| {
        probe.threads = WRITERS.into();
        writers.iter_mut().try_for_each(Running::go)?;
        let (mut puts, mut longest) = (0, 0.0_f64);
        for writer in writers {
            let (count, milliseconds) = writer.end()?;
            puts += count;
            longest = longest.max(milliseconds);
        }
        db.sync()?;
        let remarks = db.remarks()?;
        let dash = if remarks.is_empty() { "" } else { "; " };
        probe.remarks = format!("longest transaction {longest:.1} ms{dash}{remarks}");
        Ok(puts)
    })?;
    pay(session, &stretch, &db, "put, 3 processes, with all debt", data.count.into())?;
    check_all(&db, data.count.into(), data.sum(0..data.count, 0))?;
    db.close()
}

fn data_of(session: &Session) -> Data {
    Data::new(Keys::Random16, session.scaled(RECORDS).max(WRITERS), VALUE_BYTES)
}

/// A writer that runs.
struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a writer and waits until it has opened the database.
    fn start(order: &Order, share: u32) -> Result<Running> {
        let dir = order.dir.to_str().ok_or("the directory's name is no text")?;
        let (mode, scale, share) = (order.mode.name(), order.scale.to_string(), share.to_string());
        let mut args = vec!["writer", "--engine", &order.engine, "--workload", &order.workload];
        args.extend(["--mode", mode, "--scale", &scale, "--dir", dir, "--share", &share]);
        let page_bytes = order.page_bytes.map(|bytes| format!("--page-bytes={bytes}"));
        args.extend(page_bytes.as_deref());
        let mut child = program(&args)?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let said = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        let mut writer = Running { child, said };
        writer.line("ready")?;
        Ok(writer)
    }

    fn go(&mut self) -> Result<()> {
        Ok(self.child.stdin.as_mut().ok_or("no pipe")?.write_all(b"go\n")?)
    }

    /// Waits until it has put its share: how many records, and how many milliseconds the longest
    /// transaction took.
    fn end(mut self) -> Result<(u64, f64)> {
        let line = self.line("done")?;
        let mut numbers = line.split_whitespace();
        let mut next = || numbers.next().ok_or_else(|| format!("a writer said {line:?}"));
        let (count, milliseconds) = (next()?.parse()?, next()?.parse()?);
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("a writer: {status}").into());
        }
        Ok((count, milliseconds))
    }

    /// What follows the word in the next line that begins with it.
    fn line(&mut self, word: &str) -> Result<String> {
        let mut line = String::new();
        while self.said.read_line(&mut line)? > 0 {
            if let Some(rest) = line.strip_prefix(word) {
                return Ok(rest.trim().to_owned());
            }
            line.clear();
        }
        Err(format!("a writer ended without having said {word:?}").into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended is not there to be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(not(test))]
fn program(args: &[&str]) -> Result<Command> {
    let mut program = Command::new(std::env::current_exe()?);
    program.args(args);
    Ok(program)
}

#[cfg(test)]
use tests::program;

/// The body of a writer.
pub(crate) fn write(writer: &Writer) -> Result<()> {
    visit(&writer.order.engine, Share(writer))?
}

struct Share<'w>(&'w Writer);

impl Visit for Share<'_> {
    type Out = Result<()>;

    fn visit<E: Engine>(self) -> Result<()> {
        let Share(Writer { order, share }) = self;
        let mut nowhere = std::io::sink();
        let mut session = Session::new::<E>(order, &mut nowhere);
        session.without_threads::<E>();
        let data = data_of(&session);
        let numbers = data.shuffled(1).numbers;
        let each = numbers.len().div_ceil(WRITERS as usize);
        let mine = numbers.chunks(each).nth(*share as usize).ok_or("no such share")?;
        let mine = data.order(mine.to_vec());
        let db = session.open::<E>(NAME)?;
        // Each on a line of its own, whatever stands before it.
        println!("\nready");
        std::io::stdin().read_line(&mut String::new())?;
        let (count, longest) = put(&db, &data, &mine)?;
        println!("\ndone {count} {longest}");
        db.close()
    }
}

/// Puts a share; how much, and the longest transaction in milliseconds.
fn put<E: Engine>(db: &E, data: &Data, share: &Records) -> Result<(u64, f64)> {
    let (mut timed, mut count) = (Timed::new()?, 0);
    for records in share.batches(BATCH) {
        count += timed.time(|| super::put_batch(db, data, records, 0))?;
    }
    Ok((count, timed.longest().as_secs_f64() * 1e3))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Command, Result, Writer, write};

    /// The arguments of a writer, one a line.
    const ARGS: &str = "HUON_BENCH_WRITER";

    /// This test program, which is a writer then.
    pub(super) fn program(args: &[&str]) -> Result<Command> {
        let mut program = Command::new(std::env::current_exe()?);
        let test = "workload::processes::tests::is_a_writer_if_told_to";
        program.args(["--exact", test, "--nocapture"]).env(ARGS, args.join("\n"));
        Ok(program)
    }

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        writer: Writer,
    }

    #[test]
    fn is_a_writer_if_told_to() -> Result<()> {
        match std::env::var(ARGS) {
            Ok(args) => write(&Cli::try_parse_from(args.lines())?.writer),
            Err(_) => Ok(()),
        }
    }
}
