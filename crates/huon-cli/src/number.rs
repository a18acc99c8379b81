//! Numbers, as the engine's codecs of the same names lay them down.
//!
//! 1. In JSON an integer is a number as long as a program that reads numbers as doubles keeps all
//!    its digits, and a string beyond that.

use huon::Order;
use serde_json::Value;

/// The last integer up to which doubles hold all of them.
const EXACT_MAX: u64 = 1 << 53;

/// An integer as a table keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Int {
    bytes: u8,
    is_signed: bool,
    /// Little-endian, as C programs on most machines have it.
    is_native: bool,
}

impl Int {
    pub(crate) fn named(name: &str) -> Option<Int> {
        let (digits, is_native) = match name.strip_prefix("native-") {
            Some(rest) => (rest, true),
            None => (name, false),
        };
        let is_signed = digits.starts_with('i');
        let bytes = match digits.strip_prefix(['u', 'i'])? {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            "128" => 16,
            _ => return None,
        };
        let has_native = !is_signed && matches!(bytes, 4 | 8);
        (!is_native || has_native).then_some(Int { bytes, is_signed, is_native })
    }

    pub(crate) fn name(self) -> String {
        let native = if self.is_native { "native-" } else { "" };
        format!("{native}{}{}", if self.is_signed { 'i' } else { 'u' }, self.bits())
    }

    pub(crate) fn length(self) -> usize {
        self.bytes.into()
    }

    /// The order in which they follow each other, where that is not the order of bytes.
    pub(crate) fn order(self) -> Option<Order> {
        match (self.is_native, self.bytes) {
            (false, _) => None,
            (true, 4) => Some(Order::NativeU32),
            (true, _) => Some(Order::NativeU64),
        }
    }

    pub(crate) fn refusal(self) -> String {
        let sign = if self.is_signed { "an" } else { "a non-negative" };
        format!("{sign} integer of at most {} bits is expected", self.bits())
    }

    fn bits(self) -> u32 {
        u32::from(self.bytes) * 8
    }

    /// All 128 bits of the number.
    fn number(self, bytes: &[u8]) -> Option<u128> {
        if bytes.len() != self.length() {
            return None;
        }
        let mut wide = [0; 16];
        let place = &mut wide[16 - bytes.len()..];
        place.copy_from_slice(bytes);
        if self.is_native {
            place.reverse();
        }
        Some(u128::from_be_bytes(wide))
    }

    pub(crate) fn show(self, bytes: &[u8]) -> Option<String> {
        let number = self.number(bytes)?;
        if !self.is_signed {
            return Some(number.to_string());
        }
        // The sign is turned, so that numbers below zero come first.
        let zero = 1u128 << (self.bits() - 1);
        Some((number.wrapping_sub(zero) as i128).to_string())
    }

    /// Rule 1.
    pub(crate) fn json(self, bytes: &[u8]) -> Option<Value> {
        let text = self.show(bytes)?;
        let exact = text.parse::<i64>().ok().filter(|number| number.unsigned_abs() <= EXACT_MAX);
        Some(exact.map_or_else(|| Value::String(text), Value::from))
    }

    pub(crate) fn read(self, text: &str) -> Option<Vec<u8>> {
        let bits = self.bits();
        let number = if self.is_signed {
            let zero = 1u128 << (bits - 1);
            let number: i128 = text.parse().ok()?;
            let moved = (number as u128).wrapping_add(zero);
            // What does not fit wraps around to more bits.
            if bits < 128 && moved >> bits != 0 {
                return None;
            }
            moved
        } else {
            text.parse().ok().filter(|number: &u128| bits == 128 || number >> bits == 0)?
        };
        let mut bytes = number.to_be_bytes()[16 - self.length()..].to_vec();
        if self.is_native {
            bytes.reverse();
        }
        Some(bytes)
    }
}

/// A floating-point number. Its bits lie in the order of the numbers: the sign turned, and all bits
/// of those below zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Float {
    /// Of 4 bytes.
    Single,
    /// Of 8 bytes.
    Double,
}

impl Float {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Float::Single => "f32",
            Float::Double => "f64",
        }
    }

    pub(crate) fn length(self) -> usize {
        match self {
            Float::Single => 4,
            Float::Double => 8,
        }
    }

    /// The shortest text that is read back as the same number. `None`: it is no number of this
    /// length, or one of those that are none and have no text, which are all but two.
    pub(crate) fn show(self, bytes: &[u8]) -> Option<String> {
        let (text, is_nan, is_negative) = match self {
            Float::Single => {
                let bits = u32::from_be_bytes(bytes.try_into().ok()?);
                let number =
                    f32::from_bits(bits ^ if bits >> 31 == 1 { 1 << 31 } else { u32::MAX });
                (number.to_string(), number.is_nan(), number.is_sign_negative())
            }
            Float::Double => {
                let bits = u64::from_be_bytes(bytes.try_into().ok()?);
                let number =
                    f64::from_bits(bits ^ if bits >> 63 == 1 { 1 << 63 } else { u64::MAX });
                (number.to_string(), number.is_nan(), number.is_sign_negative())
            }
        };
        if !is_nan {
            return Some(text);
        }
        let text = if is_negative { "-NaN" } else { "NaN" };
        (self.read(text)? == bytes).then(|| text.into())
    }

    /// JSON has no infinities: they are strings.
    pub(crate) fn json(self, bytes: &[u8]) -> Option<Value> {
        let text = self.show(bytes)?;
        let number = text.parse().ok().and_then(serde_json::Number::from_f64);
        Some(number.map_or_else(|| Value::String(text), Value::Number))
    }

    pub(crate) fn read(self, text: &str) -> Option<Vec<u8>> {
        Some(match self {
            Float::Single => {
                let bits = text.parse::<f32>().ok()?.to_bits();
                let turned = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
                (bits ^ turned).to_be_bytes().to_vec()
            }
            Float::Double => {
                let bits = text.parse::<f64>().ok()?.to_bits();
                let turned = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
                (bits ^ turned).to_be_bytes().to_vec()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_numbers_in_json_as_long_as_doubles_hold_them() {
        let json = |name: &str, text: &str| {
            let int = Int::named(name).unwrap();
            int.json(&int.read(text).unwrap()).unwrap().to_string()
        };
        for name in ["u64", "i64", "u128", "i128", "native-u64"] {
            assert_eq!(json(name, "9007199254740992"), "9007199254740992", "{name}");
            assert_eq!(json(name, "9007199254740993"), "\"9007199254740993\"", "{name}");
        }
        assert_eq!(json("i64", "-9007199254740992"), "-9007199254740992");
        assert_eq!(json("i64", "-9007199254740993"), "\"-9007199254740993\"");
        assert_eq!(json("i64", "-9223372036854775808"), "\"-9223372036854775808\"");
        assert_eq!(json("u64", "18446744073709551615"), "\"18446744073709551615\"");
    }

    #[test]
    fn floats_have_no_more_digits_than_they_need() {
        let both = |float: Float, text: &str| {
            let bytes = float.read(text).unwrap();
            (float.show(&bytes).unwrap(), float.json(&bytes).unwrap().to_string())
        };
        let pair = |show: &str, json: &str| (show.to_string(), json.to_string());
        assert_eq!(both(Float::Single, "0.1"), pair("0.1", "0.1"));
        assert_eq!(both(Float::Double, "0.1"), pair("0.1", "0.1"));
        assert_eq!(both(Float::Single, "16777217"), pair("16777216", "16777216.0"));
        assert_eq!(both(Float::Single, "1e-45").1, "1e-45");
        assert_eq!(both(Float::Double, "-inf"), pair("-inf", "\"-inf\""));
        assert_eq!(both(Float::Double, "-0"), pair("-0", "-0.0"));
    }

    #[test]
    fn what_is_no_number_keeps_its_sign() {
        for float in [Float::Single, Float::Double] {
            for text in ["NaN", "-NaN"] {
                let bytes = float.read(text).unwrap();
                assert_eq!(float.show(&bytes).as_deref(), Some(text), "{float:?}");
                let mut other = bytes;
                *other.last_mut().unwrap() ^= 1;
                assert_eq!(float.show(&other), None, "{float:?}");
            }
        }
    }
}
