//! Codecs of numbers, and of what is as small as a number.

use std::borrow::Cow;

use super::{Codec, KeyCodec, Scratch, TuplePart};
use crate::error::{Error, Result};
use crate::txn::order::Order;

/// The same as a part of a tuple.
macro_rules! number_part {
    ($name:ident, $type:ident) => {
        impl TuplePart for $name {
            type Part<'t> = $type;

            fn part(bytes: Cow<'_, [u8]>) -> Result<$type> {
                $name::decode(&bytes)
            }
        }
    };
}

macro_rules! integer_codec {
    ($(
        #[$doc:meta] $name:ident, $int:ident, $to:ident, $from:ident, $order:expr, $text:expr;
    )*) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Codec for $name {
            type In<'a> = $int;
            type Out<'t> = $int;
            const NAME: &'static str = $text;

            #[inline]
            fn encode<'e>(item: &'e $int, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
                Ok(scratch.keep(&item.$to()))
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
    ($(#[$doc:meta] $name:ident, $type:ident, $bits:ty, $order:ident, $number:ident;)*) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Codec for $name {
            type In<'a> = $type;
            type Out<'t> = $type;
            const NAME: &'static str = stringify!($type);

            #[inline]
            fn encode<'e>(item: &'e $type, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
                Ok(scratch.keep(&$order(*item).to_be_bytes()))
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

        number_part! { $name, $type }
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
    turn_i8, unturn_i8, i8, u8;
    turn_i16, unturn_i16, i16, u16;
    turn_i32, unturn_i32, i32, u32;
    turn_i64, unturn_i64, i64, u64;
    turn_i128, unturn_i128, i128, u128;
}

ranked! {
    rank_f32, unrank_f32, f32, u32;
    rank_f64, unrank_f64, f64, u64;
}

signed_codec! {
    /// A signed 8-bit integer, so that byte order is number order.
    I8, i8, u8, turn_i8, unturn_i8;
    /// A signed 16-bit integer, so that byte order is number order.
    I16, i16, u16, turn_i16, unturn_i16;
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
    /// An unsigned 8-bit integer.
    U8, u8, to_be_bytes, from_be_bytes, Order::Bytes, "u8";
    /// An unsigned 16-bit integer, big-endian, so that byte order is number order.
    U16, u16, to_be_bytes, from_be_bytes, Order::Bytes, "u16";
    /// An unsigned 32-bit integer, big-endian, so that byte order is number order.
    U32, u32, to_be_bytes, from_be_bytes, Order::Bytes, "u32";
    /// An unsigned 64-bit integer, big-endian, so that byte order is number order.
    U64, u64, to_be_bytes, from_be_bytes, Order::Bytes, "u64";
    /// An unsigned 128-bit integer, big-endian, so that byte order is number order.
    U128, u128, to_be_bytes, from_be_bytes, Order::Bytes, "u128";
    /// An unsigned 32-bit integer as little-endian machines hold it; the table has native order.
    NativeU32, u32, to_le_bytes, from_le_bytes, Order::NativeU32, "native-u32";
    /// An unsigned 64-bit integer as little-endian machines hold it; the table has native order.
    NativeU64, u64, to_le_bytes, from_le_bytes, Order::NativeU64, "native-u64";
}

number_part! { U8, u8 }
number_part! { U16, u16 }
number_part! { U32, u32 }
number_part! { U64, u64 }
number_part! { U128, u128 }

/// No or yes, in this order: a byte of 0 or 1.
///
/// ```
/// use huon::{Bool, Codec, Error, Scratch};
/// assert_eq!(Bool::encode(&true, &mut Scratch::default())?, [1]);
/// assert!(matches!(Bool::decode(&[2]), Err(Error::Decode(_))));
/// # Ok::<(), huon::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Bool;

impl Codec for Bool {
    type In<'a> = bool;
    type Out<'t> = bool;
    const NAME: &'static str = "bool";

    fn encode<'e>(item: &'e bool, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(scratch.keep(&[u8::from(*item)]))
    }

    fn decode(bytes: &[u8]) -> Result<bool> {
        match bytes {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Error::Decode("a bool is a byte of 0 or 1".into())),
        }
    }
}

impl KeyCodec for Bool {
    const BYTES: Option<u32> = Some(1);
}

number_part! { Bool, bool }

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes all, which rise, and looks that the bytes rise with them and decode to the same.
    fn rise<K: KeyCodec>(all: &[K::In<'_>], same: impl Fn(&K::In<'_>, K::Out<'_>) -> bool) {
        let mut before: Option<Vec<u8>> = None;
        for item in all {
            let mut scratch = Scratch::default();
            let bytes = K::encode(item, &mut scratch).unwrap().to_vec();
            assert!(same(item, K::decode(&bytes).unwrap()));
            assert_eq!(K::BYTES, Some(bytes.len() as u32));
            assert!(before.is_none_or(|before| before < bytes));
            before = Some(bytes);
        }
        assert!(matches!(K::decode(b"123"), Err(Error::Decode(_))));
    }

    #[test]
    fn signed_numbers_sort_as_their_bytes_do() {
        rise::<I8>(&[i8::MIN, -2, -1, 0, 1, i8::MAX], |a, b| *a == b);
        rise::<I16>(&[i16::MIN, -256, -1, 0, 255, 256, i16::MAX], |a, b| *a == b);
        rise::<I32>(&[i32::MIN, -2, -1, 0, 1, i32::MAX], |a, b| *a == b);
        rise::<I64>(&[i64::MIN, -1 << 40, -1, 0, 255, 256, i64::MAX], |a, b| *a == b);
        rise::<I128>(&[i128::MIN, -1 << 90, -1, 0, 1 << 90, i128::MAX], |a, b| *a == b);
    }

    #[test]
    fn small_numbers_sort_as_their_bytes_do() {
        rise::<U8>(&[0, 1, 127, 128, 255], |a, b| *a == b);
        rise::<U16>(&[0, 1, 255, 256, u16::MAX], |a, b| *a == b);
        rise::<Bool>(&[false, true], |a, b| *a == b);
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
