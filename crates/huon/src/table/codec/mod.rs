//! Codecs: how keys and values become bytes, and bytes become keys and values.

mod array;
#[cfg(feature = "serde")]
mod documents;
mod numbers;
mod optional;
mod tuple;
#[cfg(feature = "uuid")]
mod uuids;

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::txn::order::Order;

#[cfg(feature = "serde")]
pub use documents::{Json, Postcard};
pub use numbers::{
    Bool, F32, F64, I8, I16, I32, I64, I128, NativeU32, NativeU64, U8, U16, U32, U64, U128,
};

/// Room for an encoded key or value: small ones need no allocation.
///
/// ```
/// let mut scratch = huon::Scratch::default();
/// assert_eq!(scratch.keep(&[1, 2, 3]), [1, 2, 3]);
/// scratch.buffer().extend_from_slice(b"as much as there is memory for");
/// ```
#[derive(Default)]
pub struct Scratch {
    small: [u8; 32],
    /// The bytes added so far, as long as they fit.
    len: usize,
    large: Vec<u8>,
}

impl Scratch {
    /// Stores up to 32 bytes without allocating, more with.
    pub fn keep(&mut self, bytes: &[u8]) -> &[u8] {
        match self.small.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                place
            }
            None => {
                self.large.clear();
                self.large.extend_from_slice(bytes);
                &self.large
            }
        }
    }

    /// A buffer to write an encoding into; empty.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.large.clear();
        &mut self.large
    }

    /// Begins an encoding that is added in pieces.
    pub(super) fn begin(&mut self) {
        self.len = 0;
        self.large.clear();
    }

    /// Adds a piece. Up to 32 bytes are added without allocating.
    pub(super) fn add(&mut self, piece: &[u8]) {
        match self.small.get_mut(self.len..self.len + piece.len()) {
            Some(place) if self.large.is_empty() => {
                place.copy_from_slice(piece);
                self.len += piece.len();
            }
            _ => {
                if self.large.is_empty() {
                    self.large.extend_from_slice(&self.small[..self.len]);
                }
                self.large.extend_from_slice(piece);
            }
        }
    }

    /// All pieces.
    pub(super) fn added(&self) -> &[u8] {
        if self.large.is_empty() { &self.small[..self.len] } else { &self.large }
    }
}

/// How a type is stored. Implemented by marker types such as [`Str`] and [`U64`], by `[u8; N]`, by
/// [`Option`] of a codec, and by tuples of up to six parts.
///
/// ```
/// use huon::{Codec, Error, Scratch};
///
/// /// A point, as two little-endian floats.
/// struct Point;
/// impl Codec for Point {
///     type In<'a> = (f32, f32);
///     type Out<'t> = (f32, f32);
///     const NAME: &'static str = "point";
///     fn encode<'e>(
///         (x, y): &'e (f32, f32),
///         scratch: &'e mut Scratch,
///     ) -> huon::Result<&'e [u8]> {
///         let buffer = scratch.buffer();
///         buffer.extend_from_slice(&x.to_le_bytes());
///         buffer.extend_from_slice(&y.to_le_bytes());
///         Ok(buffer)
///     }
///     fn decode(bytes: &[u8]) -> huon::Result<(f32, f32)> {
///         let (halves, []) = bytes.as_chunks::<4>() else {
///             return Err(Error::Decode("a point has 8 bytes".into()));
///         };
///         Ok((f32::from_le_bytes(halves[0]), f32::from_le_bytes(halves[1])))
///     }
/// }
/// let mut scratch = Scratch::default();
/// assert_eq!(Point::decode(Point::encode(&(1.0, 2.0), &mut scratch)?)?, (1.0, 2.0));
/// # Ok::<(), huon::Error>(())
/// ```
pub trait Codec: 'static {
    /// The argument of a put, by value: a number, or a reference.
    type In<'a>;
    /// What comes out; it may borrow the transaction.
    type Out<'t>;

    /// The name of the type, of at most 255 bytes. It tells programs apart that store different
    /// things under one name; empty: any bytes will do, as for [`Bytes`]. It is stored with each
    /// table: the names of the table and of its types are together no longer than a key may be.
    const NAME: &'static str;

    /// The bytes of `item`: its own where it is bytes already, else written to `scratch`.
    ///
    /// # Errors
    /// [`Error::Encode`] if it has none.
    fn encode<'e>(item: &'e Self::In<'_>, scratch: &'e mut Scratch) -> Result<&'e [u8]>;

    /// The item that `bytes` stand for.
    ///
    /// # Errors
    /// [`Error::Decode`] if they stand for none.
    fn decode(bytes: &[u8]) -> Result<Self::Out<'_>>;
}

/// A codec whose bytes sort as its items do, in the order it names.
///
/// ```
/// use huon::{Codec, KeyCodec, Scratch};
///
/// /// A version such as 1.12. (A tuple of two [`huon::U32`] would do, too.)
/// struct Version;
/// impl Codec for Version {
///     type In<'a> = (u32, u32);
///     type Out<'t> = (u32, u32);
///     const NAME: &'static str = "version";
///     fn encode<'e>(
///         (major, minor): &'e (u32, u32),
///         scratch: &'e mut Scratch,
///     ) -> huon::Result<&'e [u8]> {
///         let both = u64::from(*major) << 32 | u64::from(*minor);
///         Ok(scratch.keep(&both.to_be_bytes()))
///     }
///     fn decode(bytes: &[u8]) -> huon::Result<(u32, u32)> {
///         huon::U64::decode(bytes).map(|both| ((both >> 32) as u32, both as u32))
///     }
/// }
/// impl KeyCodec for Version {}
///
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// let t = txn.create_table(&huon::TableDef::<Version, huon::Unit>::new("t"))?;
/// for version in [(1, 12), (1, 2), (2, 0)] {
///     t.put(&mut txn, version, ())?;
/// }
/// assert_eq!(t.first(&txn)?, Some(((1, 2), ())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait KeyCodec: Codec {
    /// The order of a table with such keys.
    const ORDER: Order = Order::Bytes;
    /// The length of every encoding in bytes, if all have one: values of a multimap are kept
    /// without lengths then.
    const BYTES: Option<u32> = None;
}

/// A key codec that can be a part of a tuple: its bytes sort as byte strings.
///
/// Two different items may be such that the bytes of one begin with those of the other: the tuple
/// marks where a part ends. Where [`KeyCodec::BYTES`] is given, every encoding has that length.
pub trait TuplePart: KeyCodec {
    /// What comes out of a part that is not the last. It borrows the transaction if the part holds
    /// neither a byte 0 nor a byte 1, and is a copy otherwise.
    type Part<'t>;

    /// The item that `bytes` stand for.
    ///
    /// # Errors
    /// [`Error::Decode`] if they stand for none.
    fn part(bytes: Cow<'_, [u8]>) -> Result<Self::Part<'_>>;
}

/// The beginning of keys, for [`Table::prefix`](crate::Table::prefix): of text and bytes their
/// first bytes, of a tuple its leading parts.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// use huon::{Str, TableDef, U32, U64};
/// let sales = txn.create_table(&TableDef::<(Str, U32, U32), U64>::new("sales"))?;
/// for (key, value) in [(("ann", 2024, 1), 7), (("ann", 2024, 2), 9), (("anna", 2025, 1), 3)] {
///     sales.put(&mut txn, key, value)?;
/// }
/// assert_eq!(sales.prefix(&txn, ("ann",))?.count(), 2);
/// assert_eq!(sales.prefix(&txn, ("ann", 2024))?.count(), 2);
/// assert_eq!(sales.prefix(&txn, ("ann", 2025))?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait KeyPrefix<K: KeyCodec> {
    /// The bytes with which the keys begin.
    ///
    /// # Errors
    /// [`Error::Encode`] if there are none.
    fn encode<'e>(&'e self, scratch: &'e mut Scratch) -> Result<&'e [u8]>;
}

impl KeyPrefix<Str> for &str {
    fn encode<'e>(&'e self, _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(self.as_bytes())
    }
}

impl KeyPrefix<Str> for &String {
    fn encode<'e>(&'e self, _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(self.as_bytes())
    }
}

impl KeyPrefix<Bytes> for &[u8] {
    fn encode<'e>(&'e self, _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(self)
    }
}

impl<const N: usize> KeyPrefix<Bytes> for &[u8; N] {
    fn encode<'e>(&'e self, _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(&self[..])
    }
}

impl KeyPrefix<Bytes> for &Vec<u8> {
    fn encode<'e>(&'e self, _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(self)
    }
}

/// Plain bytes. A table of theirs is of no type: it is opened as any, and any is opened as it.
///
/// ```
/// use huon::{Bytes, Codec, Scratch};
/// assert_eq!(Bytes::encode(&&b"as it is"[..], &mut Scratch::default())?, b"as it is");
/// # Ok::<(), huon::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Bytes;

impl Codec for Bytes {
    type In<'a> = &'a [u8];
    type Out<'t> = &'t [u8];
    const NAME: &'static str = "";

    #[inline]
    fn encode<'e>(item: &'e &[u8], _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(item)
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<&[u8]> {
        Ok(bytes)
    }
}

impl KeyCodec for Bytes {}

impl TuplePart for Bytes {
    type Part<'t> = Cow<'t, [u8]>;

    fn part(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>> {
        Ok(bytes)
    }
}

/// UTF-8 text.
///
/// ```
/// use huon::{Codec, Error, Str};
/// assert_eq!(Str::decode(b"text")?, "text");
/// assert!(matches!(Str::decode(b"\xFF"), Err(Error::Decode(_))));
/// # Ok::<(), huon::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Str;

impl Codec for Str {
    type In<'a> = &'a str;
    type Out<'t> = &'t str;
    const NAME: &'static str = "str";

    #[inline]
    fn encode<'e>(item: &'e &str, _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(item.as_bytes())
    }

    fn decode(bytes: &[u8]) -> Result<&str> {
        std::str::from_utf8(bytes).map_err(|e| Error::Decode(Box::new(e)))
    }
}

impl KeyCodec for Str {}

impl TuplePart for Str {
    type Part<'t> = Cow<'t, str>;

    fn part(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>> {
        match bytes {
            Cow::Borrowed(bytes) => Str::decode(bytes).map(Cow::Borrowed),
            Cow::Owned(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Cow::Owned(text)),
                Err(error) => Err(Error::Decode(Box::new(error.utf8_error()))),
            },
        }
    }
}

/// Nothing: for tables that are sets of keys.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// let seen = txn.create_table(&huon::TableDef::<huon::Str, huon::Unit>::new("seen"))?;
/// assert!(seen.put(&mut txn, "ann", ())?);
/// assert!(!seen.put(&mut txn, "ann", ())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Unit;

impl Codec for Unit {
    type In<'a> = ();
    type Out<'t> = ();
    const NAME: &'static str = "unit";

    fn encode<'e>((): &'e (), _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(&[])
    }

    fn decode(_: &[u8]) -> Result<()> {
        Ok(())
    }
}
