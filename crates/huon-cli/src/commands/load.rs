//! Tables from text: `load`.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use huon::{Env, Progress};
use huon_text::{Error, LoadOptions, LoadReport};

use crate::args::Load;
use crate::commands::pairs::Pairs;
use crate::commands::tables::clear_main;
use crate::fail::{Code, Failure, Outcome};
use crate::guard;
use crate::open;
use crate::progress::Bar;
use crate::stop::Stop;
use crate::table::{self, AnyTable};
use crate::text::number;

/// `huon load`.
pub(crate) fn load(args: &Load) -> Outcome {
    guard::input(&args.file, &args.input)?;
    // Waits for the writer of a pipe; until one is there any signal ends this.
    let (reader, total) = input(&args.input)?;
    let stop = Stop::on_signals()?;
    open::make_and_change(&args.file, &args.writing, |env| {
        load_into(env, args, reader, total, stop)
    })
}

/// Loads what `reader` gives, `total` bytes if that is known.
fn load_into(
    env: &Env,
    args: &Load,
    reader: Box<dyn Read + Send>,
    total: u64,
    stop: Stop,
) -> Outcome {
    if args.empty {
        empty(env, args)?;
    }
    let reader =
        if args.pairs { Box::new(Pairs::new(reader, &header(env, args)?)) } else { reader };
    let mut input = StoppableInput::start(reader, stop.clone());
    let bar = Bar::bytes("loading");
    let mut report = |now: &Progress| {
        bar.at(now.done_bytes, total);
        stop.go_on()
    };
    let mut options = LoadOptions::new().keep_existing(args.keep);
    if let Some(table) = &args.table {
        options = options.table(open::name(Some(table))?);
    }
    let loaded = huon_text::load(env, &mut input, options.progress(&mut report));
    drop(bar);
    match loaded {
        _ if stop.is_asked() => {
            let text = "interrupted; what was read until then is committed, load again to go on.";
            Err(Failure::Told(Code::Interrupted, text.into()))
        }
        Ok(report) => {
            tell(&report);
            Ok(Code::Fine)
        }
        Err(Error::Input(wrong)) => {
            let before = if args.pairs { HEADER_LINES } else { 0 };
            let (name, what) = (input_name(&args.input), wrong.what);
            let text = match wrong.line.saturating_sub(before) {
                0 => format!("{name}: {what}; nothing was changed."),
                line => format!("{name}, line {line}: {what}; what comes before it is committed."),
            };
            Err(Failure::usage(text))
        }
        Err(error) => Err(error.into()),
    }
}

/// Empties the table, if it is there.
fn empty(env: &Env, args: &Load) -> Result<(), Failure> {
    let name = open::name(args.table.as_deref())?;
    let mut txn = env.write()?;
    match table::find(&txn, &name)? {
        None => return Ok(()),
        Some(AnyTable::One(table)) if name.is_empty() => clear_main(&mut txn, table)?,
        Some(AnyTable::One(table)) => table.clear(&mut txn)?,
        Some(AnyTable::Many(table)) => table.clear(&mut txn)?,
    }
    txn.commit()?;
    Ok(())
}

/// Lines of [`header`].
const HEADER_LINES: u64 = 5;

/// What a dump would say before records of the table that is loaded.
fn header(env: &Env, args: &Load) -> Result<String, Failure> {
    let name = open::name(args.table.as_deref())?;
    let table = table::find(&env.read()?, &name)?;
    let many = u8::from(matches!(table, Some(AnyTable::Many(_))));
    Ok(format!("VERSION=3\nformat=print\ntype=btree\ndupsort={many}\nHEADER=END\n"))
}

pub(super) fn input_name(input: &Path) -> String {
    if input.as_os_str() == "-" { "standard input".into() } else { input.display().to_string() }
}

/// What to read, and how long it is; 0 if that cannot be known.
pub(super) fn input(input: &Path) -> Result<(Box<dyn Read + Send>, u64), Failure> {
    if input.as_os_str() == "-" {
        return Ok((Box::new(io::stdin()), 0));
    }
    let failed = |e| Failure::io(&format!("cannot read {}", input.display()), &e);
    let file = File::open(input).map_err(failed)?;
    let stat = file.metadata().map_err(failed)?;
    Ok((Box::new(file), if stat.is_file() { stat.len() } else { 0 }))
}

fn tell(report: &LoadReport) {
    if !report.ignored.is_empty() {
        tell!("huon: ignored in the headers: {}.", report.ignored.join(", "));
    }
    if io::stderr().is_terminal() {
        let (records, tables) = (number(report.records), number(report.tables));
        tell!("loaded {records} records in {tables} sections");
    }
}

/// Bytes read at once, and pieces read ahead.
const PIECE_BYTES: usize = 256 << 10;
const PIECES_AHEAD: usize = 4;
/// How often a wait for input checks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// After so many looks in vain the load hears that there is nothing for now, and commits. Together
/// with the half second after which it commits anyway, that is less than a second.
const LOOKS_IN_VAIN: u32 = 8;

type Piece = io::Result<Vec<u8>>;

/// Input whose other end may be silent: a thread reads it. It says so when there is nothing for
/// now, and ends when the user wants to stop.
pub(super) struct StoppableInput {
    pieces: Receiver<Piece>,
    piece: Vec<u8>,
    used: usize,
    stop: Stop,
}

impl StoppableInput {
    pub(super) fn start(reader: Box<dyn Read + Send>, stop: Stop) -> StoppableInput {
        let (sender, pieces) = sync_channel(PIECES_AHEAD);
        thread::spawn(move || read_all(reader, &sender));
        StoppableInput { pieces, piece: Vec::new(), used: 0, stop }
    }
}

/// Sends all input; ends early when the receiver is gone.
fn read_all(mut reader: Box<dyn Read + Send>, sender: &SyncSender<Piece>) {
    loop {
        let mut piece = vec![0; PIECE_BYTES];
        let sent = match reader.read(&mut piece) {
            Ok(0) => return,
            Ok(bytes) => {
                piece.truncate(bytes);
                sender.send(Ok(piece))
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => {
                // Whether it arrives or not, this is the end.
                let _ = sender.send(Err(e));
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

impl Read for StoppableInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let bytes = ready.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&ready[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

impl BufRead for StoppableInput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let mut in_vain = 0;
        while self.used == self.piece.len() && !self.stop.is_asked() {
            match self.pieces.recv_timeout(LOOK_EVERY) {
                Ok(piece) => (self.piece, self.used) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) if in_vain == LOOKS_IN_VAIN => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(RecvTimeoutError::Timeout) => in_vain += 1,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(&self.piece[self.used..])
    }

    fn consume(&mut self, bytes: usize) {
        self.used += bytes;
    }
}
