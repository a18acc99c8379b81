//! Codecs: how keys and values become bytes, and bytes become keys and values.

use crate::error::{Error, Result};
use crate::txn::order::Order;

/// Room for an encoded key or value: small ones need no allocation.
///
/// ```
/// let mut scratch = huon::Scratch::default();
/// assert_eq!(scratch.keep(&[1, 2, 3]), [1, 2, 3]);
/// scratch.buffer().extend_from_slice(b"longer than sixteen bytes");
/// ```
#[derive(Default)]
pub struct Scratch {
    small: [u8; 16],
    large: Vec<u8>,
}

impl Scratch {
    /// Stores up to 16 bytes without allocating, more with.
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
}

/// How a type is stored. Implemented by marker types such as [`Str`] and [`U64`].
///
/// ```
/// use huon::{Codec, Error, Scratch};
///
/// /// A point, as two little-endian floats.
/// struct Point;
/// impl Codec for Point {
///     type In = (f32, f32);
///     type Out<'t> = (f32, f32);
///     fn encode<'a>(item: &'a (f32, f32), scratch: &'a mut Scratch) -> &'a [u8] {
///         let buffer = scratch.buffer();
///         buffer.extend_from_slice(&item.0.to_le_bytes());
///         buffer.extend_from_slice(&item.1.to_le_bytes());
///         buffer
///     }
///     fn decode(bytes: &[u8]) -> huon::Result<(f32, f32)> {
///         let (halves, []) = bytes.as_chunks::<4>() else {
///             return Err(Error::Decode("a point has 8 bytes".into()));
///         };
///         Ok((f32::from_le_bytes(halves[0]), f32::from_le_bytes(halves[1])))
///     }
/// }
/// assert_eq!(Point::decode(Point::encode(&(1.0, 2.0), &mut Scratch::default()))?, (1.0, 2.0));
/// # Ok::<(), huon::Error>(())
/// ```
pub trait Codec: 'static {
    /// What is put in.
    type In: ?Sized;
    /// What comes out; it may borrow the transaction.
    type Out<'t>;

    /// The bytes of `item`: its own where it is bytes already, else written to `scratch`.
    fn encode<'a>(item: &'a Self::In, scratch: &'a mut Scratch) -> &'a [u8];

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
/// /// A version such as 1.12: the parts one behind the other sort as versions do.
/// struct Version;
/// impl Codec for Version {
///     type In = (u32, u32);
///     type Out<'t> = (u32, u32);
///     fn encode<'a>((major, minor): &'a (u32, u32), scratch: &'a mut Scratch) -> &'a [u8] {
///         scratch.keep(&(u64::from(*major) << 32 | u64::from(*minor)).to_be_bytes())
///     }
///     fn decode(bytes: &[u8]) -> huon::Result<(u32, u32)> {
///         huon::U64::decode(bytes).map(|both| ((both >> 32) as u32, both as u32))
///     }
/// }
/// impl KeyCodec for Version {}
///
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
/// # let mut txn = env.write()?;
/// let t = txn.create_table(&huon::TableDef::<Version, huon::Unit>::new("t"))?;
/// for version in [(1, 12), (1, 2), (2, 0)] {
///     t.put(&mut txn, &version, &())?;
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

/// Plain bytes.
///
/// ```
/// use huon::{Bytes, Codec, Scratch};
/// assert_eq!(Bytes::encode(b"as it is", &mut Scratch::default()), b"as it is");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Bytes;

impl Codec for Bytes {
    type In = [u8];
    type Out<'t> = &'t [u8];

    #[inline]
    fn encode<'a>(item: &'a [u8], _: &'a mut Scratch) -> &'a [u8] {
        item
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<&[u8]> {
        Ok(bytes)
    }
}

impl KeyCodec for Bytes {}

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
    type In = str;
    type Out<'t> = &'t str;

    fn encode<'a>(item: &'a str, _: &'a mut Scratch) -> &'a [u8] {
        item.as_bytes()
    }

    fn decode(bytes: &[u8]) -> Result<&str> {
        std::str::from_utf8(bytes).map_err(|e| Error::Decode(Box::new(e)))
    }
}

impl KeyCodec for Str {}

/// Nothing: for tables that are sets of keys.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
/// # let mut txn = env.write()?;
/// let seen = txn.create_table(&huon::TableDef::<huon::Str, huon::Unit>::new("seen"))?;
/// assert!(seen.put(&mut txn, "ann", &())?);
/// assert!(!seen.put(&mut txn, "ann", &())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Unit;

impl Codec for Unit {
    type In = ();
    type Out<'t> = ();

    fn encode<'a>((): &'a (), _: &'a mut Scratch) -> &'a [u8] {
        &[]
    }

    fn decode(_: &[u8]) -> Result<()> {
        Ok(())
    }
}

macro_rules! integer_codec {
    ($(#[$doc:meta] $name:ident, $int:ty, $to:ident, $from:ident, $order:expr;)*) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Codec for $name {
            type In = $int;
            type Out<'t> = $int;

            fn encode<'a>(item: &'a $int, scratch: &'a mut Scratch) -> &'a [u8] {
                scratch.keep(&item.$to())
            }

            fn decode(bytes: &[u8]) -> Result<$int> {
                match bytes.try_into() {
                    Ok(bytes) => Ok(<$int>::$from(bytes)),
                    Err(_) => Err(Error::Decode(wrong_length(bytes.len(), size_of::<$int>()))),
                }
            }
        }

        impl KeyCodec for $name {
            const ORDER: Order = $order;
            const BYTES: Option<u32> = Some(size_of::<$int>() as u32);
        }
    )*};
}

macro_rules! signed_codec {
    ($(#[$doc:meta] $name:ident, $type:ty, $bits:ty, $order:ident, $number:ident;)*) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Codec for $name {
            type In = $type;
            type Out<'t> = $type;

            fn encode<'a>(item: &'a $type, scratch: &'a mut Scratch) -> &'a [u8] {
                scratch.keep(&$order(*item).to_be_bytes())
            }

            fn decode(bytes: &[u8]) -> Result<$type> {
                match bytes.try_into() {
                    Ok(bytes) => Ok($number(<$bits>::from_be_bytes(bytes))),
                    Err(_) => Err(Error::Decode(wrong_length(bytes.len(), size_of::<$type>()))),
                }
            }
        }

        impl KeyCodec for $name {
            const BYTES: Option<u32> = Some(size_of::<$type>() as u32);
        }
    )*};
}

/// Signed numbers as unsigned ones in the same order, and back: their sign bit is turned.
macro_rules! turned {
    ($($to:ident, $from:ident, $signed:ty, $bits:ty;)*) => {$(
        fn $to(number: $signed) -> $bits {
            number as $bits ^ 1 << (<$bits>::BITS - 1)
        }

        fn $from(bits: $bits) -> $signed {
            (bits ^ 1 << (<$bits>::BITS - 1)) as $signed
        }
    )*};
}

/// Floats as unsigned numbers in the order of `total_cmp`, and back: of positive ones the sign bit
/// is turned, of negative ones all bits are.
macro_rules! ranked {
    ($($to:ident, $from:ident, $float:ty, $bits:ty;)*) => {$(
        fn $to(number: $float) -> $bits {
            let (bits, sign) = (number.to_bits(), 1 << (<$bits>::BITS - 1));
            if bits & sign == 0 { bits | sign } else { !bits }
        }

        fn $from(bits: $bits) -> $float {
            let sign = 1 << (<$bits>::BITS - 1);
            <$float>::from_bits(if bits & sign == 0 { !bits } else { bits & !sign })
        }
    )*};
}

turned! {
    turn_i32, unturn_i32, i32, u32;
    turn_i64, unturn_i64, i64, u64;
    turn_i128, unturn_i128, i128, u128;
}

ranked! {
    rank_f32, unrank_f32, f32, u32;
    rank_f64, unrank_f64, f64, u64;
}

signed_codec! {
    /// A signed 32-bit integer, so that byte order is number order.
    I32, i32, u32, turn_i32, unturn_i32;
    /// A signed 64-bit integer, so that byte order is number order.
    I64, i64, u64, turn_i64, unturn_i64;
    /// A signed 128-bit integer, so that byte order is number order.
    I128, i128, u128, turn_i128, unturn_i128;
    /// A 32-bit float, in the order of [`f32::total_cmp`]: negative NaNs first, positive ones last.
    F32, f32, u32, rank_f32, unrank_f32;
    /// A 64-bit float, in the order of [`f64::total_cmp`]: negative NaNs first, positive ones last.
    F64, f64, u64, rank_f64, unrank_f64;
}

fn wrong_length(found: usize, expected: usize) -> Box<dyn std::error::Error + Send + Sync> {
    format!("{found} bytes where an integer of {expected} was expected").into()
}

integer_codec! {
    /// An unsigned 32-bit integer, big-endian, so that byte order is number order.
    U32, u32, to_be_bytes, from_be_bytes, Order::Bytes;
    /// An unsigned 64-bit integer, big-endian, so that byte order is number order.
    U64, u64, to_be_bytes, from_be_bytes, Order::Bytes;
    /// An unsigned 128-bit integer, big-endian, so that byte order is number order.
    U128, u128, to_be_bytes, from_be_bytes, Order::Bytes;
    /// An unsigned 32-bit integer as little-endian machines hold it; the table has native order.
    NativeU32, u32, to_le_bytes, from_le_bytes, Order::NativeU32;
    /// An unsigned 64-bit integer as little-endian machines hold it; the table has native order.
    NativeU64, u64, to_le_bytes, from_le_bytes, Order::NativeU64;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes all, which rise, and looks that the bytes rise with them and decode to the same.
    fn rise<K: KeyCodec>(all: &[K::In], same: impl Fn(&K::In, K::Out<'_>) -> bool)
    where
        K::In: Sized,
    {
        let mut before: Option<Vec<u8>> = None;
        for item in all {
            let mut scratch = Scratch::default();
            let bytes = K::encode(item, &mut scratch).to_vec();
            assert!(same(item, K::decode(&bytes).unwrap()));
            assert_eq!(K::BYTES, Some(bytes.len() as u32));
            assert!(before.is_none_or(|before| before < bytes));
            before = Some(bytes);
        }
        assert!(matches!(K::decode(b"123"), Err(Error::Decode(_))));
    }

    #[test]
    fn signed_numbers_sort_as_their_bytes_do() {
        rise::<I32>(&[i32::MIN, -2, -1, 0, 1, i32::MAX], |a, b| *a == b);
        rise::<I64>(&[i64::MIN, -1 << 40, -1, 0, 255, 256, i64::MAX], |a, b| *a == b);
        rise::<I128>(&[i128::MIN, -1 << 90, -1, 0, 1 << 90, i128::MAX], |a, b| *a == b);
    }

    #[test]
    fn floats_sort_in_total_order() {
        let nan = f64::from_bits(0x7FF8_0000_0000_0001);
        let all = [
            -nan,
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            f64::MIN_POSITIVE,
            1.0,
            1.0 + f64::EPSILON,
            f64::MAX,
            f64::INFINITY,
            nan,
        ];
        rise::<F64>(&all, |a, b| a.to_bits() == b.to_bits());
        let all = [f32::NEG_INFINITY, -2.0, -0.0, 0.0, 2.0, f32::INFINITY, f32::NAN];
        rise::<F32>(&all, |a, b| a.to_bits() == b.to_bits());
    }
}
