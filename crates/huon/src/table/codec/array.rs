//! Arrays of bytes: hashes, addresses, ids.

use std::borrow::Cow;

use super::{Codec, KeyCodec, KeyPrefix, Scratch, TuplePart};
use crate::error::{Error, Result};

/// So many bytes.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// let blobs = txn.create_table(&huon::TableDef::<[u8; 32], huon::Bytes>::new("blobs"))?;
/// blobs.put(&mut txn, &[7; 32], b"seven")?;
/// assert_eq!(blobs.first(&txn)?, Some((&[7; 32], &b"seven"[..])));
/// assert_eq!(blobs.prefix(&txn, &[7, 7][..])?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<const N: usize> Codec for [u8; N] {
    type In<'a> = &'a [u8; N];
    type Out<'t> = &'t [u8; N];
    const NAME: &'static str = ArrayName::<N>::TEXT;

    #[inline]
    fn encode<'e>(item: &'e &[u8; N], _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(*item)
    }

    fn decode(bytes: &[u8]) -> Result<&[u8; N]> {
        bytes.try_into().map_err(|_| {
            let found = bytes.len();
            Error::Decode(format!("{found} bytes where an array of {N} was expected").into())
        })
    }
}

impl<const N: usize> KeyCodec for [u8; N] {
    const BYTES: Option<u32> = if N == 0 { None } else { Some(N as u32) };
}

impl<const N: usize> TuplePart for [u8; N] {
    type Part<'t> = [u8; N];

    fn part(bytes: Cow<'_, [u8]>) -> Result<[u8; N]> {
        Self::decode(&bytes).copied()
    }
}

impl<const N: usize> KeyPrefix<[u8; N]> for &[u8] {
    fn encode<'e>(&'e self, _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(self)
    }
}

/// The name of an array's type, made when the program is compiled.
struct ArrayName<const N: usize>;

impl<const N: usize> ArrayName<N> {
    const ROOM: ([u8; 28], usize) = {
        let mut room = *b"[u8; 00000000000000000000]  ";
        let (mut digits, mut rest) = (1, N / 10);
        while rest > 0 {
            (digits, rest) = (digits + 1, rest / 10);
        }
        let (mut at, mut rest) = (5 + digits, N);
        room[at] = b']';
        while at > 5 {
            at -= 1;
            room[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        (room, 5 + digits + 1)
    };

    const TEXT: &'static str = match str::from_utf8(Self::ROOM.0.split_at(Self::ROOM.1).0) {
        Ok(text) => text,
        Err(_) => panic!("it is ASCII"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_their_lengths_in_their_names() {
        assert_eq!(<[u8; 0]>::NAME, "[u8; 0]");
        assert_eq!(<[u8; 9]>::NAME, "[u8; 9]");
        assert_eq!(<[u8; 32]>::NAME, "[u8; 32]");
        assert_eq!(<[u8; 1000]>::NAME, "[u8; 1000]");
    }

    #[test]
    fn another_length_is_refused() {
        assert!(matches!(<[u8; 4]>::decode(b"abc"), Err(Error::Decode(_))));
        assert_eq!(<[u8; 4]>::decode(b"abcd").unwrap(), b"abcd");
    }
}
