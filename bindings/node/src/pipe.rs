//! Bytes between JavaScript and a job, a piece at a time.
//!
//! Each piece is a step (J4): JavaScript asks for it or hands it, and waits for the answer. So
//! neither of the two is ahead of the other by more than one piece.
//!
//! I1. A thread answers each step. One that has ended waits for a step that is still to come: its
//!     caller makes one, or stops the job.

use std::io::{self, BufRead, BufWriter, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::failure::{Failure, Result};
use crate::jobs::{Answer, Handed, Mailbox, Step};

/// The longest piece that is made, and room for what is read at once.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// A job's end of a pipe.
struct Pipe {
    mailbox: Arc<Mailbox>,
    steps: Receiver<Step>,
    /// The job that is answered when the step that was taken last is made.
    asker: Option<f64>,
}

impl Pipe {
    /// The next step; the one before was made.
    fn step(&mut self) -> io::Result<Handed> {
        self.answer(Ok(Answer::Nothing));
        let (asker, handed) = self.steps.recv().map_err(|_| ErrorKind::BrokenPipe)?;
        self.asker = Some(asker);
        Ok(handed)
    }

    fn answer(&mut self, answer: Result<Answer>) {
        if let Some(asker) = self.asker.take() {
            self.mailbox.post(asker, answer);
        }
    }

    /// I1: answers the last step.
    fn end(&mut self, answer: Result<Answer>) {
        if self.asker.is_some() || self.step().is_ok() {
            self.answer(answer);
        }
    }
}

/// Answers steps with what is written. A write waits for one, and fails when none will come.
pub(crate) struct Outlet {
    pipe: Pipe,
    is_cut: bool,
}

impl Outlet {
    pub(crate) fn new(mailbox: Arc<Mailbox>, steps: Receiver<Step>) -> Outlet {
        Outlet { pipe: Pipe { mailbox, steps, asker: None }, is_cut: false }
    }

    /// Has `work` write all that there is, and tells the reader that it is all.
    pub(crate) fn fill(
        mut self,
        work: impl FnOnce(&mut dyn Write) -> Result<Answer>,
    ) -> Result<Answer> {
        let mut out = BufWriter::with_capacity(PIECE_BYTES, &mut self);
        let done = work(&mut out);
        // Of work that failed nothing more is sent.
        let _ = out.into_parts();
        self.pipe.end(Ok(Answer::Nothing));
        // The error of a write says less.
        if self.is_cut { Err(Failure::cut()) } else { done }
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pipe.step().inspect_err(|_| self.is_cut = true)?;
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        self.pipe.answer(Ok(Answer::Bytes(piece.to_vec())));
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What JavaScript hands: files, and streams that are read from here. A read waits for a step, and
/// fails when none will come.
pub(crate) struct Inlet {
    pipe: Pipe,
    piece: Vec<u8>,
    /// From where the piece has not been read.
    at: usize,
    /// The stream has no more pieces.
    is_ended: bool,
    /// There is nothing after what was handed.
    is_all: bool,
}

impl Inlet {
    pub(crate) fn new(mailbox: Arc<Mailbox>, steps: Receiver<Step>) -> Inlet {
        let pipe = Pipe { mailbox, steps, asker: None };
        Inlet { pipe, piece: Vec::new(), at: 0, is_ended: true, is_all: false }
    }

    /// What is handed after all that was read: a file, the first piece of a stream, which is read
    /// from here, or nothing more.
    pub(crate) fn next(&mut self) -> Result<Handed> {
        let mut handed = self.pipe.step().map_err(|_| Failure::stopped())?;
        match &mut handed {
            Handed::Nothing => {
                self.is_all = true;
                self.pipe.answer(Ok(Answer::Nothing));
            }
            Handed::Piece(first) => self.begin(std::mem::take(first)),
            Handed::File(_) => (),
        }
        Ok(handed)
    }

    fn begin(&mut self, piece: Vec<u8>) {
        (self.piece, self.at, self.is_ended) = (piece, 0, false);
    }

    /// Tells the program that hands things why no more are taken.
    pub(crate) fn refuse(&mut self, failure: Failure) {
        if !self.is_all {
            self.pipe.end(Err(failure));
        }
    }
}

impl BufRead for Inlet {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.piece.len() && !self.is_ended {
            match self.pipe.step()? {
                Handed::Piece(piece) => self.begin(piece),
                Handed::Nothing => self.is_ended = true,
                Handed::File(_) => return Err(ErrorKind::InvalidInput.into()),
            }
        }
        Ok(&self.piece[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for Inlet {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(bytes)?;
        self.consume(count);
        Ok(count)
    }
}
