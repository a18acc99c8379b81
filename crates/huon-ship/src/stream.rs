//! A backup as objects: cut into pieces, and joined again.

use std::io::{self, Read, Write};

use huon::{BackupOptions, Capture, SnapshotName};

use crate::error::{Error, Result};
use crate::object::PIECE_BYTES;

/// Is given each piece, and whether it is the last one.
type OnPiece<'c> = dyn FnMut(&[u8], bool) -> Result<()> + 'c;

/// Cuts what is written to it into pieces.
struct Cutter<'c> {
    piece: Vec<u8>,
    emit: &'c mut OnPiece<'c>,
    /// The error that a write has ended with: that of the bucket, which an error of `io` hides.
    failed: Option<Error>,
}

impl Write for Cutter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Only once more comes is it known that a full piece is not the last one.
        if self.piece.len() == PIECE_BYTES {
            if let Err(error) = (self.emit)(&self.piece, false) {
                self.failed = Some(error);
                return Err(io::Error::other("the bucket does not take it"));
            }
            self.piece.clear();
        }
        let count = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Shows what a snapshot has more than an earlier one, or all of it, as pieces of a backup. Returns
/// how many bytes they have together.
pub(crate) fn cut<'c>(
    capture: &Capture,
    since: Option<SnapshotName>,
    emit: &'c mut OnPiece<'c>,
) -> Result<u64> {
    let mut options = BackupOptions::new();
    if let Some(since) = since {
        options = options.since(since);
    }
    let mut cutter = Cutter { piece: Vec::new(), emit, failed: None };
    let written = capture.backup_to(&mut cutter, options);
    if let Some(error) = cutter.failed {
        return Err(error);
    }
    let report = written?;
    (cutter.emit)(&cutter.piece, true)?;
    Ok(report.bytes)
}

/// Gives the next piece; `None`: the stream has ended.
type NextPiece<'j> = dyn FnMut() -> Result<Option<Vec<u8>>> + 'j;

/// Reads pieces as one stream.
pub(crate) struct Joined<'j> {
    next: &'j mut NextPiece<'j>,
    piece: Vec<u8>,
    at: usize,
    /// The error that a read has ended with.
    failed: Option<Error>,
}

impl<'j> Joined<'j> {
    pub(crate) fn of(next: &'j mut NextPiece<'j>) -> Joined<'j> {
        Joined { next, piece: Vec::new(), at: 0, failed: None }
    }

    /// What a reader of the stream returned; the error of the bucket, if that was the cause.
    pub(crate) fn outcome<T>(self, read: huon::Result<T>) -> Result<T> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(read?),
        }
    }
}

impl Read for Joined<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            match (self.next)() {
                Ok(Some(piece)) => (self.piece, self.at) = (piece, 0),
                Ok(None) => return Ok(0),
                Err(error) => {
                    self.failed = Some(error);
                    return Err(io::Error::other("the bucket does not give it"));
                }
            }
        }
        let count = bytes.len().min(self.piece.len() - self.at);
        bytes[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
