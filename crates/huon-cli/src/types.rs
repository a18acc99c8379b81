//! What keys and values are, and how they are written for people and programs.
//!
//! 1. What [`Type::show`] writes, [`Type::read`] reads back as the same bytes; so for JSON, also
//!    behind a program that reads its numbers as doubles.
//! 2. In JSON, text that is not UTF-8 is hex, under a name that says so: `key_hex`, `value_hex`.

use huon::Order;
use serde_json::Value;

use crate::number::{Float, Int};
use crate::text::{Form, json_text};
use crate::tuple::Tuple;

/// What a key or a value is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    /// Text, or any bytes.
    Text,
    /// Any bytes, as hex digits.
    Hex,
    /// So many bytes, as hex digits.
    Array(usize),
    Bool,
    Int(Int),
    Float(Float),
    Uuid,
    Json,
    /// What may be missing, as JSON: `null`, or the item.
    Optional(Box<Type>),
    /// Several parts, as a JSON array.
    Tuple(Tuple),
}

/// What is said to a name that is none.
const NAMES: &str = "text, hex, json, bool, uuid, u8 to u128, i8 to i128, f32, f64, native-u32, \
                     native-u64, [u8; 32], option<u64>, or several of them for the parts of a \
                     key, as text,u64";

/// The engine stores no longer ones.
const NAME_BYTES_MAX: usize = 255;

impl Type {
    /// The type that is called so, as an argument of the command line.
    pub(crate) fn of_argument(name: &str) -> Result<Type, String> {
        Type::named(name).ok_or_else(|| NAMES.into())
    }

    /// The type that a table was created with, if it is one that can be shown.
    pub(crate) fn stored(name: &str) -> Option<Type> {
        Type::named(name).filter(|kind| *kind != Type::Hex)
    }

    /// What an order of keys or values says of them.
    pub(crate) fn of_order(order: &str) -> Type {
        Int::named(order).map_or(Type::Text, Type::Int)
    }

    fn named(name: &str) -> Option<Type> {
        if name.len() > NAME_BYTES_MAX {
            return None;
        }
        let parts = divided(name)?;
        let [name] = parts.as_slice() else { return Type::tuple(&parts) };
        let inside = |before: &str, after: &str| name.strip_prefix(before)?.strip_suffix(after);
        if let Some(parts) = inside("(", ")") {
            return Type::tuple(&divided(parts)?);
        }
        if let Some(item) = inside("option<", ">") {
            // Where the item can be null, too, null would stand for both.
            let item = Type::named(item);
            let item = item.filter(|item| !matches!(item, Type::Json | Type::Optional(_)))?;
            return Some(Type::Optional(Box::new(item)));
        }
        if let Some(length) = inside("[u8; ", "]") {
            return length.parse().ok().map(Type::Array);
        }
        Some(match *name {
            "text" | "str" => Type::Text,
            "hex" | "bytes" => Type::Hex,
            "bool" => Type::Bool,
            "f32" => Type::Float(Float::Single),
            "f64" => Type::Float(Float::Double),
            "uuid" => Type::Uuid,
            "json" => Type::Json,
            name => Type::Int(Int::named(name)?),
        })
    }

    fn tuple(parts: &[&str]) -> Option<Type> {
        let parts = parts.iter().map(|part| Type::named(part)).collect::<Option<Vec<Type>>>()?;
        Tuple::of(parts).map(Type::Tuple)
    }

    pub(crate) fn name(&self) -> String {
        self.called("text", "hex")
    }

    /// The name of the engine's codec; empty for plain bytes.
    pub(crate) fn codec_name(&self) -> String {
        if *self == Type::Hex { String::new() } else { self.called("str", "bytes") }
    }

    /// The name, in which text and bytes are called so.
    pub(crate) fn called(&self, text: &str, bytes: &str) -> String {
        match self {
            Type::Text => text.into(),
            Type::Hex => bytes.into(),
            Type::Array(length) => format!("[u8; {length}]"),
            Type::Bool => "bool".into(),
            Type::Int(int) => int.name(),
            Type::Float(float) => float.name().into(),
            Type::Uuid => "uuid".into(),
            Type::Json => "json".into(),
            Type::Optional(item) => format!("option<{}>", item.called(text, bytes)),
            Type::Tuple(tuple) => tuple.name(text, bytes),
        }
    }

    /// How many bytes each has, if all have as many.
    pub(crate) fn length(&self) -> Option<usize> {
        match self {
            Type::Array(length) => Some(*length).filter(|length| *length > 0),
            Type::Bool => Some(1),
            Type::Int(int) => Some(int.length()),
            Type::Float(float) => Some(float.length()),
            Type::Uuid => Some(16),
            Type::Tuple(tuple) => tuple.length(),
            Type::Text | Type::Hex | Type::Json | Type::Optional(_) => None,
        }
    }

    /// The order that tables of such keys have, where it is not that of bytes.
    pub(crate) fn order(&self) -> Option<Order> {
        if let Type::Int(int) = self { int.order() } else { None }
    }

    /// `bytes` as text; `None` if they are of another type.
    pub(crate) fn show(&self, bytes: &[u8]) -> Option<String> {
        Some(match self {
            Type::Text => Form::Plain.show(bytes),
            Type::Hex => Form::Hex.show(bytes),
            Type::Array(length) if bytes.len() == *length => Form::Hex.show(bytes),
            Type::Array(_) => return None,
            Type::Bool => bool_of(bytes)?.to_string(),
            Type::Int(int) => int.show(bytes)?,
            Type::Float(float) => float.show(bytes)?,
            Type::Uuid => uuid_text(bytes)?,
            Type::Json => self.json(bytes)?.0.to_string(),
            Type::Optional(_) | Type::Tuple(_) => json_text(&self.json(bytes)?.0),
        })
    }

    /// The bytes that `text` stands for; or what is wrong with it.
    pub(crate) fn read(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Type::Text => return Form::Plain.read(text).map_err(String::from),
            Type::Hex => return Form::Hex.read(text).map_err(String::from),
            Type::Array(length) => {
                let bytes = Form::Hex.read(text)?;
                return Some(bytes).filter(|it| it.len() == *length).ok_or_else(|| self.refusal());
            }
            Type::Optional(_) | Type::Tuple(_) => {
                let value = serde_json::from_slice(text).map_err(|_| self.refusal())?;
                return self.of_json(&value);
            }
            _ => {}
        }
        let text = std::str::from_utf8(text).map_err(|_| self.refusal())?;
        let bytes = match self {
            Type::Int(int) => int.read(text),
            Type::Float(float) => float.read(text),
            Type::Bool => text.parse().ok().map(|yes: bool| vec![u8::from(yes)]),
            Type::Uuid => uuid_bytes(text),
            _ => match serde_json::from_str::<Value>(text) {
                Ok(_) => Some(text.trim().into()),
                Err(error) => return Err(format!("this is not JSON: {error}")),
            },
        };
        bytes.ok_or_else(|| self.refusal())
    }

    /// The bytes with which keys begin: of a tuple, those that have the leading parts.
    pub(crate) fn leading(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        if let Type::Tuple(tuple) = self { tuple.leading(text) } else { self.read(text) }
    }

    /// `bytes` as JSON, and whether that is hex; `None` if they are of another type.
    pub(crate) fn json(&self, bytes: &[u8]) -> Option<(Value, bool)> {
        Some(match self {
            Type::Text => match std::str::from_utf8(bytes) {
                Ok(text) => (text.into(), false),
                Err(_) => (Form::Hex.show(bytes).into(), true),
            },
            Type::Hex | Type::Array(_) => (self.show(bytes)?.into(), true),
            Type::Bool => (bool_of(bytes)?.into(), false),
            Type::Int(int) => (int.json(bytes)?, false),
            Type::Float(float) => (float.json(bytes)?, false),
            Type::Uuid => (uuid_text(bytes)?.into(), false),
            Type::Json => (serde_json::from_slice(bytes).ok()?, false),
            Type::Optional(item) => match bytes {
                [0] => (Value::Null, false),
                [1, bytes @ ..] => (item.nested(bytes)?, false),
                _ => return None,
            },
            Type::Tuple(tuple) => (tuple.json(bytes)?, false),
        })
    }

    /// The same within other JSON, where no name says what is hex: so text that is none has no
    /// place there.
    pub(crate) fn nested(&self, bytes: &[u8]) -> Option<Value> {
        let (value, is_hex) = self.json(bytes)?;
        (*self != Type::Text || !is_hex).then_some(value)
    }

    /// The bytes that a JSON value stands for; or what is wrong with it.
    pub(crate) fn of_json(&self, value: &Value) -> Result<Vec<u8>, String> {
        match (self, value) {
            (Type::Tuple(tuple), value) => tuple.of_json(value),
            (Type::Optional(_), Value::Null) => Ok(vec![0]),
            (Type::Optional(item), value) => {
                let mut bytes = item.of_json(value)?;
                bytes.insert(0, 1);
                Ok(bytes)
            }
            (Type::Json, value) => Ok(value.to_string().into_bytes()),
            (Type::Text, Value::String(text)) => Ok(text.clone().into_bytes()),
            (_, Value::String(text)) => self.read(text.as_bytes()),
            (Type::Text | Type::Hex | Type::Array(_) | Type::Uuid, value) => {
                Err(format!("a string is expected, not {value}"))
            }
            (_, value) => self.read(value.to_string().as_bytes()),
        }
    }

    /// `bytes` as a field of CSV; `None` if they are of another type.
    pub(crate) fn csv(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if *self == Type::Text {
            Some(bytes.into())
        } else {
            self.show(bytes).map(String::into_bytes)
        }
    }

    /// The bytes that a field of CSV stands for.
    pub(crate) fn of_csv(&self, field: &[u8]) -> Result<Vec<u8>, String> {
        if *self == Type::Text { Ok(field.into()) } else { self.read(field) }
    }

    fn refusal(&self) -> String {
        match self {
            Type::Bool => "true or false is expected".into(),
            Type::Float(_) => "a number is expected".into(),
            Type::Int(int) => int.refusal(),
            Type::Uuid => "a UUID is expected: 32 hex digits, with dashes or without".into(),
            Type::Array(length) => format!("{length} bytes are expected, two hex digits each"),
            Type::Optional(item) => {
                format!("JSON is expected: null, or an item of type {}", item.name())
            }
            Type::Tuple(tuple) => tuple.refusal(),
            _ => "text in UTF-8 is expected".into(),
        }
    }
}

/// What commas divide; those inside brackets divide nothing. `None`: the brackets do not match.
fn divided(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'<' => depth += 1,
            b')' | b'>' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    (depth == 0).then_some(parts)
}

fn bool_of(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [0] => Some(false),
        [1] => Some(true),
        _ => None,
    }
}

/// In the five groups that RFC 9562 gives the digits.
fn uuid_text(bytes: &[u8]) -> Option<String> {
    if bytes.len() != 16 {
        return None;
    }
    let digits = Form::Hex.show(bytes);
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
    Some(groups.join("-"))
}

/// Of digits in their groups, or without dashes.
fn uuid_bytes(text: &str) -> Option<Vec<u8>> {
    let bytes = Form::Hex.read(text.replace('-', "").as_bytes()).ok()?;
    let grouped = uuid_text(&bytes)?;
    (!text.contains('-') || text.to_ascii_lowercase() == grouped).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use huon::{
        Codec, F32, F64, I32, I64, I128, NativeU32, NativeU64, Scratch, Str, U8, U32, U64, U128,
    };

    use super::*;

    fn encoded<C: Codec>(item: C::In<'_>) -> Vec<u8> {
        C::encode(&item, &mut Scratch::default()).unwrap().to_vec()
    }

    fn named(name: &str) -> Type {
        Type::of_argument(name).unwrap()
    }

    #[test]
    fn values_are_those_of_typed_tables() {
        let cases = [
            ("u32", "7", encoded::<U32>(7)),
            ("u64", "18446744073709551615", encoded::<U64>(u64::MAX)),
            ("u128", "340282366920938463463374607431768211455", encoded::<U128>(u128::MAX)),
            ("i32", "-2147483648", encoded::<I32>(i32::MIN)),
            ("i64", "-1", encoded::<I64>(-1)),
            ("i64", "9223372036854775807", encoded::<I64>(i64::MAX)),
            ("i128", "-5", encoded::<I128>(-5)),
            ("i128", "170141183460469231731687303715884105727", encoded::<I128>(i128::MAX)),
            ("native-u32", "258", encoded::<NativeU32>(258)),
            ("native-u64", "258", encoded::<NativeU64>(258)),
            ("f32", "-0.5", encoded::<F32>(-0.5)),
            ("f32", "0.1", encoded::<F32>(0.1)),
            ("f32", "-NaN", encoded::<F32>(-f32::NAN)),
            ("f64", "2.25", encoded::<F64>(2.25)),
            ("f64", "NaN", encoded::<F64>(f64::NAN)),
            ("text", "gr\u{fc}n", encoded::<Str>("gr\u{fc}n")),
            ("[u8; 2]", "00ff", encoded::<[u8; 2]>(&[0, 255])),
            ("option<u8>", "null", encoded::<Option<U8>>(None)),
            ("option<u8>", "7", encoded::<Option<U8>>(Some(7))),
            ("option<text>", "\"null\"", encoded::<Option<Str>>(Some("null"))),
            (
                "option<(text, u8)>",
                "[\"a\\tb\",7]",
                encoded::<Option<(Str, U8)>>(Some(("a\tb", 7))),
            ),
            ("uuid", "01234567-89ab-cdef-0123-456789abcdef", {
                0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128.to_be_bytes().to_vec()
            }),
        ];
        for (name, text, bytes) in cases {
            let kind = named(name);
            assert_eq!(kind.show(&bytes).as_deref(), Some(text), "{name}");
            assert_eq!(kind.read(text.as_bytes()), Ok(bytes.clone()), "{name}");
            assert_eq!(kind.name(), name);
        }
    }

    #[test]
    fn types_have_the_names_of_their_codecs() {
        for (name, codec) in [
            ("text", Str::NAME),
            ("hex", huon::Bytes::NAME),
            ("native-u32", NativeU32::NAME),
            ("[u8; 16]", <[u8; 16]>::NAME),
            ("option<hex>", <Option<huon::Bytes>>::NAME),
            ("text,hex,option<u64>", <(Str, huon::Bytes, Option<U64>)>::NAME),
            ("(text,u8),u64", <((Str, U8), U64)>::NAME),
        ] {
            assert_eq!(named(name).codec_name(), codec);
            assert_eq!(Type::stored(codec), Some(named(name)).filter(|_| name != "hex"), "{name}");
        }
        for name in ["postcard", "unit", "option<json>", "option<option<u8>>", "point", "hex"] {
            assert_eq!(Type::stored(name), None, "{name}");
        }
    }

    #[test]
    fn uuids_are_read_with_dashes_or_without() {
        let read = |text: &str| named("uuid").read(text.as_bytes());
        let bytes = read("0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(read("01234567-89AB-cdef-0123-456789abcdef"), Ok(bytes.clone()));
        assert_eq!(
            named("uuid").json(&bytes),
            Some(("01234567-89ab-cdef-0123-456789abcdef".into(), false))
        );
        for text in
            ["", "0123", "0123-456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdeg"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    /// Rule 1, in every form.
    #[test]
    fn what_is_written_is_read_back() {
        let names = "text hex bool json uuid f32 f64 u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 \
                     native-u32 native-u64 [u8;_4] option<u8> option<hex> option<f32> u8,hex \
                     text,u8 option<i8>,(u8,text)";
        let mut shown = 0;
        for kind in names.split(' ').map(|name| named(&name.replace('_', " "))) {
            let lengths = [0, 1, 2, 4, 5, 8, 16];
            for seed in 0..200u64 {
                let words = [1, 2].map(|n| (seed + n).wrapping_mul(0x9E37_79B9_7F4A_7C15));
                let random = words.map(u64::to_be_bytes).concat();
                let extreme = vec![[0, 1, 0x7F, 0x80, 0xFF][seed as usize % 5]; 16];
                let one = [&[1][..], &random[1..]].concat();
                let all = [random, extreme, one];
                for bytes in all.iter().flat_map(|b| lengths.map(|n| &b[..n])) {
                    let Some(text) = kind.show(bytes) else { continue };
                    shown += 1;
                    assert_eq!(kind.read(text.as_bytes()).as_deref(), Ok(bytes), "{kind:?} {text}");
                    let field = kind.csv(bytes).unwrap();
                    assert_eq!(kind.of_csv(&field).as_deref(), Ok(bytes), "{kind:?} {text}");
                    let (value, is_hex) = kind.json(bytes).unwrap();
                    // As another program reads it.
                    let value: Value = serde_json::from_str(&value.to_string()).unwrap();
                    let back = match &value {
                        Value::String(digits) if is_hex => {
                            Form::Hex.read(digits.as_bytes()).unwrap()
                        }
                        value => kind.of_json(value).unwrap(),
                    };
                    assert_eq!(back, bytes, "{kind:?} {value}");
                }
            }
        }
        assert!(shown > 3000, "{shown}");
        let json = br#"{"b": [1, 2.50], "a": null}"#;
        assert_eq!(named("json").read(json).as_deref(), Ok(&json[..]));
        assert_eq!(named("json").show(json).unwrap(), r#"{"b":[1,2.5],"a":null}"#);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (name, text) in [
            ("u8", "256"),
            ("u8", "-1"),
            ("u64", "7x"),
            ("u64", ""),
            ("u64", "18446744073709551616"),
            ("i8", "128"),
            ("i8", "-129"),
            ("i128", "170141183460469231731687303715884105728"),
            ("native-u32", "4294967296"),
            ("bool", "yes"),
            ("f64", "one"),
            ("json", "{"),
            ("[u8; 2]", "00"),
            ("option<u8>", "256"),
            ("option<text>", "bare"),
        ] {
            assert!(named(name).read(text.as_bytes()).is_err(), "{name} {text}");
        }
        let long = format!("{}u8{}", "option<".repeat(100), ">".repeat(100));
        for name in
            ["u7", "native-i64", "native-u8", "string", "native-", "u", "", "[u8; x]", &long]
        {
            assert!(Type::of_argument(name).is_err(), "{name}");
        }
        assert_eq!(named("u32").show(b"12345"), None);
        assert_eq!(named("bool").show(&[2]), None);
        assert_eq!(named("option<u8>").show(&[2, 7]), None);
        assert_eq!(named("option<text>").show(&[1, 0xFF]), None);
        assert_eq!(named("uuid").show(b"too short"), None);
    }
}
