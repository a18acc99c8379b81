//! Tuples: keys of several parts, which sort by their first part, then by the second, and so on.
//!
//! ```text
//! part of one length              its bytes
//! other part, but the last        its bytes, 0 as 1 1 and 1 as 1 2; then a byte 0
//! last part                       its bytes
//! ```
//!
//! 1. A part that ends sorts before one that goes on: nothing in a part is as small as the byte
//!    that ends it.
//! 2. 1 1 and 1 2 sort as 0 and 1 do, and before every other byte.
//! 3. The bytes of leading parts are those with which exactly the keys begin that have these parts.

use std::borrow::Cow;

use super::{Codec, KeyCodec, KeyPrefix, Scratch, TuplePart};
use crate::error::{Error, Result};

/// What ends a part.
const END: u8 = 0;
/// What stands before a byte that would be taken for another: 0 as 1, 1 as 2.
const MARK: u8 = 1;

/// Adds a part, which is the last of the key, or of all that have these parts.
fn write<P: TuplePart>(out: &mut Scratch, item: &P::In<'_>, last: bool) -> Result<()> {
    let mut own = Scratch::default();
    let bytes = P::encode(item, &mut own)?;
    if last || P::BYTES.is_some() {
        out.add(bytes);
        return Ok(());
    }
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| matches!(*byte, END | MARK)) {
        out.add(&rest[..at]);
        out.add(&[MARK, rest[at] + 1]);
        rest = &rest[at + 1..];
    }
    out.add(rest);
    out.add(&[END]);
    Ok(())
}

/// Takes the next part off the bytes of a tuple.
fn read<'t, P: TuplePart>(bytes: &mut Cow<'t, [u8]>) -> Result<P::Part<'t>> {
    let part = match P::BYTES {
        Some(length) => split(bytes, length as usize, 0)?,
        None => {
            let end = bytes.iter().position(|&byte| byte == END).ok_or_else(cut)?;
            let part = split(bytes, end, 1)?;
            if part.contains(&MARK) { Cow::Owned(unmarked(&part)?) } else { part }
        }
    };
    P::part(part)
}

/// Takes so many bytes off, and drops those that end them.
fn split<'t>(bytes: &mut Cow<'t, [u8]>, length: usize, end: usize) -> Result<Cow<'t, [u8]>> {
    if bytes.len() < length + end {
        return Err(cut());
    }
    match bytes {
        Cow::Borrowed(all) => {
            let part = &all[..length];
            *all = &all[length + end..];
            Ok(Cow::Borrowed(part))
        }
        Cow::Owned(all) => {
            let mut part: Vec<u8> = all.drain(..length + end).collect();
            part.truncate(length);
            Ok(Cow::Owned(part))
        }
    }
}

/// The bytes that a part had.
fn unmarked(part: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(part.len());
    let mut bytes = part.iter();
    while let Some(&byte) = bytes.next() {
        match (byte, if byte == MARK { bytes.next() } else { None }) {
            (MARK, Some(&marked @ 1..=2)) => out.push(marked - 1),
            (MARK, _) => return Err(Error::Decode("a part of a key has a mark of nothing".into())),
            (byte, _) => out.push(byte),
        }
    }
    Ok(out)
}

#[cold]
fn cut() -> Error {
    Error::Decode("a key of several parts ends within one".into())
}

/// The sum of lengths, if all are known.
const fn total(parts: &[Option<u32>]) -> Option<u32> {
    let (mut sum, mut at) = (0, 0);
    while at < parts.len() {
        match parts[at] {
            Some(bytes) => sum += bytes,
            None => return None,
        }
        at += 1;
    }
    Some(sum)
}

/// The name of a type that is made of others, and its length.
pub(super) const fn joined(before: &str, parts: &[&str], after: &str) -> ([u8; 256], usize) {
    let (room, len) = add(([0; 256], 0), before);
    let (mut room, mut at) = ((room, len), 0);
    while at < parts.len() {
        if at > 0 {
            room = add(room, ", ");
        }
        room = add(room, if parts[at].is_empty() { "bytes" } else { parts[at] });
        at += 1;
    }
    add(room, after)
}

const fn add((mut room, mut len): ([u8; 256], usize), text: &str) -> ([u8; 256], usize) {
    let (text, mut at) = (text.as_bytes(), 0);
    assert!(len + text.len() <= 255, "the name of a type has at most 255 bytes");
    while at < text.len() {
        room[len] = text[at];
        (len, at) = (len + 1, at + 1);
    }
    (room, len)
}

macro_rules! tuple_codec {
    ($name:ident: $($part:ident $field:tt),+; $last:ident $last_field:tt) => {
        impl<$($part: TuplePart,)+ $last: TuplePart> Codec for ($($part,)+ $last,) {
            type In<'a> = ($($part::In<'a>,)+ $last::In<'a>,);
            type Out<'t> = ($($part::Part<'t>,)+ $last::Out<'t>,);
            const NAME: &'static str = $name::<$($part,)+ $last>::TEXT;

            fn encode<'e>(item: &'e Self::In<'_>, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
                scratch.begin();
                $(write::<$part>(scratch, &item.$field, false)?;)+
                write::<$last>(scratch, &item.$last_field, true)?;
                Ok(scratch.added())
            }

            fn decode(bytes: &[u8]) -> Result<Self::Out<'_>> {
                let mut left = Cow::Borrowed(bytes);
                let leading = ($(read::<$part>(&mut left)?,)+);
                let Cow::Borrowed(left) = left else { return Err(cut()) };
                Ok(($(leading.$field,)+ $last::decode(left)?,))
            }
        }

        impl<$($part: TuplePart,)+ $last: TuplePart> KeyCodec for ($($part,)+ $last,) {
            const BYTES: Option<u32> = total(&[$($part::BYTES,)+ $last::BYTES]);
        }

        impl<$($part: TuplePart,)+ $last: TuplePart> TuplePart for ($($part,)+ $last,) {
            type Part<'t> = ($($part::Part<'t>,)+ $last::Part<'t>,);

            fn part(mut bytes: Cow<'_, [u8]>) -> Result<Self::Part<'_>> {
                Ok(($(read::<$part>(&mut bytes)?,)+ $last::part(bytes)?,))
            }
        }

        impl<'a, $($part: TuplePart,)+ $last: TuplePart> KeyPrefix<($($part,)+ $last,)>
            for ($($part::In<'a>,)+ $last::In<'a>,)
        {
            fn encode<'e>(&'e self, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
                <($($part,)+ $last,) as Codec>::encode(self, scratch)
            }
        }

        /// The name of such a type, made when the program is compiled.
        struct $name<$($part,)+ $last>($($part,)+ $last);

        impl<$($part: TuplePart,)+ $last: TuplePart> $name<$($part,)+ $last> {
            const ROOM: ([u8; 256], usize) = joined("(", &[$($part::NAME,)+ $last::NAME], ")");

            const TEXT: &'static str = match str::from_utf8(Self::ROOM.0.split_at(Self::ROOM.1).0) {
                Ok(text) => text,
                Err(_) => panic!("names of types are text"),
            };
        }
    };
}

tuple_codec! { Two: A 0; B 1 }
tuple_codec! { Three: A 0, B 1; C 2 }
tuple_codec! { Four: A 0, B 1, C 2; D 3 }
tuple_codec! { Five: A 0, B 1, C 2, D 3; E 4 }
tuple_codec! { Six: A 0, B 1, C 2, D 3, E 4; F 5 }

/// Leading parts of a tuple.
macro_rules! tuple_prefix {
    ($($part:ident $field:tt),+; $($rest:ident),+) => {
        impl<$($part: TuplePart,)+ $($rest: TuplePart,)+> KeyPrefix<($($part,)+ $($rest,)+)>
            for ($($part::In<'_>,)+)
        {
            fn encode<'e>(&'e self, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
                scratch.begin();
                $(write::<$part>(scratch, &self.$field, false)?;)+
                Ok(scratch.added())
            }
        }
    };
}

tuple_prefix! { A 0; B }
tuple_prefix! { A 0; B, C }
tuple_prefix! { A 0, B 1; C }
tuple_prefix! { A 0; B, C, D }
tuple_prefix! { A 0, B 1; C, D }
tuple_prefix! { A 0, B 1, C 2; D }
tuple_prefix! { A 0; B, C, D, E }
tuple_prefix! { A 0, B 1; C, D, E }
tuple_prefix! { A 0, B 1, C 2; D, E }
tuple_prefix! { A 0, B 1, C 2, D 3; E }
tuple_prefix! { A 0; B, C, D, E, F }
tuple_prefix! { A 0, B 1; C, D, E, F }
tuple_prefix! { A 0, B 1, C 2; D, E, F }
tuple_prefix! { A 0, B 1, C 2, D 3; E, F }
tuple_prefix! { A 0, B 1, C 2, D 3, E 4; F }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::codec::{Bool, Bytes, I32, Str, U8, U64};

    const TEXTS: [&str; 9] = ["", "\0", "\0\0", "\0\u{1}", "\u{1}", "\u{1}\0", "\u{2}", "a", "a\0"];

    fn encoded<K: Codec>(item: K::In<'_>) -> Vec<u8> {
        K::encode(&item, &mut Scratch::default()).unwrap().to_vec()
    }

    #[test]
    fn tuples_sort_by_their_parts_whatever_is_in_them() {
        type Key = (Str, U64, Bytes, I32);
        let mut all = Vec::new();
        for text in TEXTS {
            for number in [0, 1, 255, 256, u64::MAX] {
                for bytes in TEXTS {
                    for signed in [i32::MIN, -1, 0, 1] {
                        all.push((text, number, bytes.as_bytes(), signed));
                    }
                }
            }
        }
        all.sort();
        let mut before = Vec::new();
        for (at, &key) in all.iter().enumerate() {
            let bytes = encoded::<Key>(key);
            assert!(at == 0 || before < bytes, "{key:?}");
            let (text, number, middle, signed) = Key::decode(&bytes).unwrap();
            assert_eq!((&*text, number, &*middle, signed), key);
            before = bytes;
        }
    }

    #[test]
    fn a_prefix_finds_exactly_the_keys_that_have_its_parts() {
        type Key = (Str, Bytes, U8);
        let keys = TEXTS.iter().flat_map(|a| TEXTS.map(|b| (*a, b.as_bytes(), 7)));
        let all: Vec<_> = keys.map(|key| (key, encoded::<Key>(key))).collect();
        for first in TEXTS {
            let mut room = Scratch::default();
            let prefix = KeyPrefix::<Key>::encode(&(first,), &mut room).unwrap().to_vec();
            for (key, bytes) in &all {
                assert_eq!(bytes.starts_with(&prefix), key.0 == first, "{first:?} {key:?}");
            }
            for second in TEXTS {
                let mut room = Scratch::default();
                let parts = (first, second.as_bytes());
                let prefix = KeyPrefix::<Key>::encode(&parts, &mut room).unwrap().to_vec();
                let is_it = |key: &(&str, &[u8], u8)| (key.0, key.1) == parts;
                assert!(all.iter().all(|(key, bytes)| bytes.starts_with(&prefix) == is_it(key)));
            }
        }
    }

    #[test]
    fn short_keys_take_no_memory() {
        let mut room = Scratch::default();
        let key = (&[7; 16], 1, u64::MAX);
        assert_eq!(<([u8; 16], U64, U64) as Codec>::encode(&key, &mut room).unwrap().len(), 32);
        assert_eq!(<(Str, U64) as Codec>::encode(&("ann\0", 1), &mut room).unwrap().len(), 14);
        assert_eq!(room.large.capacity(), 0);
        // One byte more than fits, and shorter again.
        let text = "t".repeat(24);
        let long = <(Str, U64) as Codec>::encode(&(&text, 1), &mut room).unwrap().to_vec();
        assert_eq!(long, [text.as_bytes(), &[0; 8], &[1]].concat());
        assert_eq!(<(Str, U8) as Codec>::encode(&("", 1), &mut room).unwrap(), [0, 1]);
    }

    #[test]
    fn parts_borrow_where_they_can() {
        let plain = encoded::<(Str, U8)>(("plain", 1));
        assert!(matches!(<(Str, U8)>::decode(&plain).unwrap().0, Cow::Borrowed("plain")));
        let marked = encoded::<(Str, U8)>(("a\0b", 1));
        assert!(
            matches!(<(Str, U8)>::decode(&marked).unwrap().0, Cow::Owned(text) if text == "a\0b")
        );
    }

    #[test]
    fn tuples_nest() {
        type Key = ((Str, U64), Option<(Bool, Str)>, Bytes);
        let items = [
            (("", 0), None, &b""[..]),
            (("a", 1), Some((true, "b")), b"c"),
            (("\0\u{1}", u64::MAX), Some((false, "\0")), b"\0"),
        ];
        for item in items {
            let bytes = encoded::<Key>(item);
            let ((text, number), inner, last) = Key::decode(&bytes).unwrap();
            let inner = inner.as_ref().map(|(flag, text)| (*flag, &**text));
            assert_eq!(((&*text, number), inner, last), item);
        }
        assert_eq!(Key::NAME, "((str, u64), option<(bool, str)>, bytes)");
        assert_eq!((<(U64, U8)>::BYTES, <(U64, Str)>::BYTES), (Some(9), None));
    }

    #[test]
    fn what_is_no_tuple_is_refused() {
        for bytes in [&b""[..], b"a", b"a\x01\0\0", b"\x01\x03\0\x07", b"a\0", b"a\0\x07\x07"] {
            let refused = <(Str, U8)>::decode(bytes);
            assert!(matches!(refused, Err(Error::Decode(_))), "{bytes:?}");
        }
    }
}
