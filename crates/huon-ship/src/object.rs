//! The bytes of an object: a head, a body, and a digest of both. FORMAT.md defines every byte.
//!
//! ```text
//!    0   8 bytes  "SHIPHUON"           72  u64  flags; 1: the last part
//!    8  u32  version, 1                80  u64  id of the snapshot before, 0: none
//!   12  u32  kind                      88  u64  checksum of its image
//!   16  u64  n                         96  u64  id of the snapshot that it leads to, 0: none
//!   24  16 bytes  id of the file      104  u64  checksum of its image
//!   40  u64  epoch                    112  u64  milliseconds since 1970, UTC
//!   48  16 bytes  the shipper         120  u64  length of the body in bytes
//!   64  u64  part, from 0             128  32 bytes  digest of the object before
//! body
//! 32 bytes: BLAKE3 of all before
//! ```
//!
//! Of a kind with contents the body is a u64, the length of a piece, and the piece compressed with
//! zstd; both encrypted where the prefix has a key.

use huon::SnapshotName;

use crate::cipher::Cipher;
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"SHIPHUON";
const VERSION: u32 = 1;
pub(crate) const HEAD_BYTES: usize = 160;
const DIGEST_BYTES: usize = 32;
/// Bytes of a piece at most: as much of a stream as a shipper or a reader has in memory.
pub(crate) const PIECE_BYTES: usize = 8 << 20;
const LAST: u64 = 1;

/// BLAKE3 of an object.
pub(crate) type Digest = [u8; DIGEST_BYTES];

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// Another shipper begins: the log belongs to it from here on.
    Takeover = 1,
    /// The state of the log is that of a base from here on, whatever was before.
    Start = 2,
    /// What changed.
    Segment = 3,
    /// A part of a whole snapshot.
    Base = 4,
}

/// What an object says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// Its number in the log; of a base: the record whose state it is.
    pub(crate) n: u64,
    /// The file that is shipped, and all its copies.
    pub(crate) uuid: [u8; 16],
    /// The takeover under which it was made.
    pub(crate) epoch: u64,
    /// The shipper that made it.
    pub(crate) shipper: [u8; 16],
    /// Which piece of its stream it is.
    pub(crate) part: u64,
    /// Whether the stream ends with it.
    pub(crate) is_last: bool,
    /// The snapshot that the stream follows; `None`: it has all pages.
    pub(crate) from: Option<SnapshotName>,
    /// The snapshot that it leads to; of a takeover: where the log is.
    pub(crate) to: Option<SnapshotName>,
    /// Milliseconds since 1970, UTC.
    pub(crate) millis: u64,
    /// Bytes of the body.
    pub(crate) body_bytes: u64,
    /// Digest of the object before it.
    pub(crate) before: Digest,
}

impl Head {
    fn encode(&self) -> [u8; HEAD_BYTES] {
        let name = |name: Option<SnapshotName>| name.unwrap_or(SnapshotName { id: 0, checksum: 0 });
        let (from, to) = (name(self.from), name(self.to));
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[24..40].copy_from_slice(&self.uuid);
        bytes[48..64].copy_from_slice(&self.shipper);
        bytes[128..].copy_from_slice(&self.before);
        let words = [
            (16, self.n),
            (40, self.epoch),
            (64, self.part),
            (72, if self.is_last { LAST } else { 0 }),
            (80, from.id),
            (88, from.checksum),
            (96, to.id),
            (104, to.checksum),
            (112, self.millis),
            (120, self.body_bytes),
        ];
        for (at, word) in words {
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The head in the first bytes of an object; an error says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Head, &'static str> {
        let bytes: &[u8; HEAD_BYTES] = bytes.first_chunk().ok_or("it ends within its head")?;
        if !bytes.starts_with(MAGIC) {
            return Err("it does not begin as an object of this format");
        }
        if u64::from(VERSION) != word(bytes, 8) & 0xFFFF_FFFF {
            return Err("it has another version of the format");
        }
        let kind = match word(bytes, 8) >> 32 {
            1 => Kind::Takeover,
            2 => Kind::Start,
            3 => Kind::Segment,
            4 => Kind::Base,
            _ => return Err("it is of an unknown kind"),
        };
        let name = |at| {
            let name = SnapshotName { id: word(bytes, at), checksum: word(bytes, at + 8) };
            Some(name).filter(|name| name.id != 0)
        };
        Ok(Head {
            kind,
            n: word(bytes, 16),
            uuid: array(bytes, 24),
            epoch: word(bytes, 40),
            shipper: array(bytes, 48),
            part: word(bytes, 64),
            is_last: word(bytes, 72) & LAST != 0,
            from: name(80),
            to: name(96),
            millis: word(bytes, 112),
            body_bytes: word(bytes, 120),
            before: array(bytes, 128),
        })
    }

    /// Where the log is after this record, if it is one of the log.
    pub(crate) fn state_after(&self) -> Option<SnapshotName> {
        if self.is_end() { self.to } else { self.from }
    }

    /// Whether no part of a segment is to follow this record of the log.
    pub(crate) fn is_end(&self) -> bool {
        self.kind != Kind::Segment || self.is_last
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

/// The whole object of a head and a body, which is not encrypted.
pub(crate) fn plain(mut head: Head, body: &[u8]) -> Vec<u8> {
    head.body_bytes = body.len() as u64;
    signed(&head.encode(), body)
}

fn signed(head: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(head.len() + body.len() + DIGEST_BYTES);
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(body);
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    bytes
}

/// The whole object of a head and a piece, compressed and encrypted.
pub(crate) fn of_piece(
    mut head: Head,
    piece: &[u8],
    level: i32,
    cipher: &Cipher,
) -> Result<Vec<u8>> {
    let mut body = (piece.len() as u64).to_le_bytes().to_vec();
    let compressed = zstd::bulk::compress(piece, level);
    body.extend(compressed.map_err(|_| Error::Huon(huon::Error::OutOfMemory))?);
    head.body_bytes = (body.len() + cipher.extra_bytes()) as u64;
    let head = head.encode();
    Ok(signed(&head, &cipher.seal(&head, body)))
}

/// An object whose digest was verified.
pub(crate) struct Sound {
    pub(crate) head: Head,
    pub(crate) digest: Digest,
    bytes: Vec<u8>,
}

impl Sound {
    /// Verifies an object.
    pub(crate) fn of(name: &str, bytes: Vec<u8>) -> Result<Sound> {
        let damaged = |reason| Error::Damaged { name: name.into(), reason };
        let head = Head::decode(&bytes).map_err(damaged)?;
        let body_bytes = bytes.len().checked_sub(HEAD_BYTES + DIGEST_BYTES);
        if body_bytes.map(|length| length as u64) != Some(head.body_bytes) {
            return Err(damaged("it is not as long as it says"));
        }
        let digest = array(&bytes, bytes.len() - DIGEST_BYTES);
        if blake3::hash(&bytes[..bytes.len() - DIGEST_BYTES]) != digest {
            return Err(damaged("its digest is wrong"));
        }
        Ok(Sound { head, digest, bytes })
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[HEAD_BYTES..self.bytes.len() - DIGEST_BYTES]
    }

    /// Its piece, decrypted and decompressed.
    pub(crate) fn piece(&self, name: &str, cipher: &Cipher) -> Result<Vec<u8>> {
        let damaged = |reason| Error::Damaged { name: name.into(), reason };
        let body = cipher.open(&self.bytes[..HEAD_BYTES], self.body());
        let body = body.ok_or_else(|| damaged("it was encrypted with another key"))?;
        let (length, compressed) = body.split_first_chunk().ok_or_else(|| damaged(NO_PIECE))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > PIECE_BYTES {
            return Err(damaged(NO_PIECE));
        }
        let piece = zstd::bulk::decompress(compressed, length).ok();
        piece.filter(|piece| piece.len() == length).ok_or_else(|| damaged(NO_PIECE))
    }
}

const NO_PIECE: &str = "its body is no piece";

/// The digest at the end of an object that this shipper made.
pub(crate) fn digest_of(object: &[u8]) -> Digest {
    array(object, object.len() - DIGEST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::Key;

    fn head() -> Head {
        let name = |id| Some(SnapshotName { id, checksum: id * 7 });
        Head {
            kind: Kind::Segment,
            n: 12,
            uuid: [3; 16],
            epoch: 4,
            shipper: [5; 16],
            part: 6,
            is_last: true,
            from: name(8),
            to: name(9),
            millis: 10,
            body_bytes: 0,
            before: [11; 32],
        }
    }

    #[test]
    fn objects_are_read_as_they_were_written() {
        let piece: Vec<u8> = (0..100_000u32).map(|n| (n / 7) as u8).collect();
        for cipher in [Cipher::of(None), Cipher::of(Some(&Key::from_bytes([1; 32])))] {
            let bytes = of_piece(head(), &piece, 3, &cipher).expect("an object");
            assert!(bytes.len() < 50_000, "it is compressed");
            let sound = Sound::of("o", bytes.clone()).expect("an object");
            assert_eq!(Head { body_bytes: 0, ..sound.head }, head());
            assert_eq!(sound.piece("o", &cipher).expect("a piece"), piece);
            assert_eq!(sound.digest, digest_of(&bytes));
            let other = Cipher::of(Some(&Key::from_bytes([2; 32])));
            assert!(matches!(sound.piece("o", &other), Err(Error::Damaged { .. })));
        }
        let sound = Sound::of("o", plain(head(), b"text")).expect("an object");
        assert_eq!(sound.body(), b"text");
    }

    #[test]
    fn every_flip_and_every_cut_is_named() {
        let cipher = Cipher::of(None);
        let bytes = of_piece(head(), b"some bytes", 3, &cipher).expect("an object");
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            let error = Sound::of("o", flipped).err();
            assert!(matches!(error, Some(Error::Damaged { .. })), "bit {at}");
        }
        for length in 0..bytes.len() {
            assert!(Sound::of("o", bytes[..length].to_vec()).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_body_that_claims_too_much_is_refused() {
        for length in [PIECE_BYTES as u64 + 1, u64::MAX, 11, 9] {
            let mut body = length.to_le_bytes().to_vec();
            body.extend(zstd::bulk::compress(b"some bytes", 3).expect("compressed"));
            let sound = Sound::of("o", plain(head(), &body)).expect("its digest is right");
            let piece = sound.piece("o", &Cipher::of(None));
            assert!(matches!(piece, Err(Error::Damaged { .. })), "{length}");
        }
    }
}
