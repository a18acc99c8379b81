//! Keys of several parts, as FORMAT.md says they lie in a file, and as JSON arrays.

use serde_json::Value;

use crate::types::Type;

/// Parts that a key has at least, and at most.
const PARTS: std::ops::RangeInclusive<usize> = 2..=6;
/// What ends a part that has no length of its own.
const END: u8 = 0;
/// What stands before a byte that would be taken for another: 0 as 1, 1 as 2.
const MARK: u8 = 1;

/// The types of the parts of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tuple(Vec<Type>);

impl Tuple {
    /// `None`: they are too few, or too many, or one of them is no part of a key.
    pub(crate) fn of(parts: Vec<Type>) -> Option<Tuple> {
        (PARTS.contains(&parts.len()) && !parts.contains(&Type::Json)).then_some(Tuple(parts))
    }

    /// The name, in which text and bytes are called so.
    pub(crate) fn name(&self, text: &str, bytes: &str) -> String {
        let names: Vec<String> = self.0.iter().map(|part| part.called(text, bytes)).collect();
        format!("({})", names.join(", "))
    }

    /// How many bytes each has, if all have as many.
    pub(crate) fn length(&self) -> Option<usize> {
        self.0.iter().map(Type::length).sum()
    }

    /// `bytes` as a JSON array; `None` if they are of another type.
    pub(crate) fn json(&self, bytes: &[u8]) -> Option<Value> {
        let (last, leading) = self.0.split_last()?;
        let mut left = bytes;
        let mut values = Vec::new();
        for part in leading {
            values.push(part.nested(&cut(part, &mut left)?)?);
        }
        values.push(last.nested(left)?);
        Some(Value::Array(values))
    }

    /// The bytes that a JSON array stands for; or what is wrong with it.
    pub(crate) fn of_json(&self, value: &Value) -> Result<Vec<u8>, String> {
        match value {
            Value::Array(values) if values.len() == self.0.len() => self.bytes(values),
            _ => Err(self.refusal()),
        }
    }

    /// The bytes with which the keys begin that have these leading parts, in a JSON array.
    pub(crate) fn leading(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        match serde_json::from_slice(text) {
            Ok(Value::Array(values)) if (1..=self.0.len()).contains(&values.len()) => {
                self.bytes(&values)
            }
            _ => {
                let (count, name) = (self.0.len(), Type::Tuple(self.clone()).name());
                Err(format!("a JSON array of 1 to {count} leading parts of {name} is expected"))
            }
        }
    }

    /// Every part that others follow in a whole key is ended, so that no longer one begins with it.
    fn bytes(&self, values: &[Value]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        for (at, (part, value)) in self.0.iter().zip(values).enumerate() {
            let bytes = part.of_json(value)?;
            if part.length().is_some() || at + 1 == self.0.len() {
                out.extend(bytes);
                continue;
            }
            bytes.iter().for_each(|&byte| match byte {
                END | MARK => out.extend([MARK, byte + 1]),
                byte => out.push(byte),
            });
            out.push(END);
        }
        Ok(out)
    }

    pub(crate) fn refusal(&self) -> String {
        let (count, name) = (self.0.len(), Type::Tuple(self.clone()).name());
        format!("a JSON array of {count} parts is expected, such as {name} takes")
    }
}

/// Takes a part off the bytes of a key, of which it is not the last.
fn cut(part: &Type, left: &mut &[u8]) -> Option<Vec<u8>> {
    if let Some(length) = part.length() {
        let (bytes, rest) = left.split_at_checked(length)?;
        *left = rest;
        return Some(bytes.to_vec());
    }
    let end = left.iter().position(|&byte| byte == END)?;
    let (marked, rest) = (&left[..end], &left[end + 1..]);
    *left = rest;
    let (mut out, mut bytes) = (Vec::new(), marked.iter());
    while let Some(&byte) = bytes.next() {
        out.push(match byte {
            MARK => bytes.next().filter(|byte| (1..=2).contains(*byte))? - 1,
            byte => byte,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use huon::{Bytes, Codec, I32, KeyCodec, KeyPrefix, Scratch, Str, U8, U64};

    use super::*;

    fn encoded<C: Codec>(item: C::In<'_>) -> Vec<u8> {
        C::encode(&item, &mut Scratch::default()).unwrap().to_vec()
    }

    fn prefix<K: KeyCodec>(parts: impl KeyPrefix<K>) -> Vec<u8> {
        parts.encode(&mut Scratch::default()).unwrap().to_vec()
    }

    fn named(name: &str) -> Tuple {
        match Type::of_argument(name).unwrap() {
            Type::Tuple(tuple) => tuple,
            other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn keys_are_those_of_typed_tables() {
        type Nested = ((Str, U64), Option<(U8, Str)>, Bytes);
        let cases = [
            ("(str, u64)", r#"["ann",7]"#, encoded::<(Str, U64)>(("ann", 7))),
            ("(str, u64)", r#"["a\u0000\u0001",0]"#, encoded::<(Str, U64)>(("a\0\x01", 0))),
            ("(u64, str)", r#"[7,""]"#, encoded::<(U64, Str)>((7, ""))),
            (
                "(bytes, i32, [u8; 2])",
                r#"["00ff01",-5,"0001"]"#,
                encoded::<(Bytes, I32, [u8; 2])>((&[0, 255, 1], -5, &[0, 1])),
            ),
            ("(u8, u8)", "[1,2]", encoded::<(U8, U8)>((1, 2))),
            (
                "((str, u64), option<(u8, str)>, bytes)",
                r#"[["a\u0000",1],[7,"b"],"00"]"#,
                encoded::<Nested>((("a\0", 1), Some((7, "b")), &[0])),
            ),
            (
                "((str, u64), option<(u8, str)>, bytes)",
                r#"[["",0],null,""]"#,
                encoded::<Nested>((("", 0), None, &[])),
            ),
            (
                "((u8, u64), option<u8>)",
                "[[1,2],null]",
                encoded::<((U8, U64), Option<U8>)>(((1, 2), None)),
            ),
            (
                "(u64, str)",
                r#"["9007199254740993","x"]"#,
                encoded::<(U64, Str)>(((1 << 53) + 1, "x")),
            ),
        ];
        for (name, text, bytes) in cases {
            let tuple = named(name);
            assert_eq!(tuple.json(&bytes).map(|value| value.to_string()).as_deref(), Some(text));
            let value = serde_json::from_str(text).unwrap();
            assert_eq!(tuple.of_json(&value), Ok(bytes), "{name}");
            assert_eq!(tuple.name("str", "bytes"), name);
        }
        assert_eq!(named("str,u64"), named("(text, u64)"));
        assert_eq!(named("(str,u8),u64"), named("((text, u8), u64)"));
        assert_eq!(named("str,u64").name("text", "hex"), "(text, u64)");
    }

    /// As the engine's own prefixes.
    #[test]
    fn leading_parts_are_ended() {
        type Key = (Str, Option<U8>, U64);
        let tuple = named("str,option<u8>,u64");
        let cases = [
            (r#"["a\u0000"]"#, prefix::<Key>(("a\0",))),
            (r#"["",null]"#, prefix::<Key>(("", None::<u8>))),
            (r#"["a",1]"#, prefix::<Key>(("a", Some(1u8)))),
            (r#"["a",1,7]"#, prefix::<Key>(("a", Some(1u8), 7u64))),
        ];
        for (text, bytes) in cases {
            assert_eq!(tuple.leading(text.as_bytes()), Ok(bytes), "{text}");
        }
        assert_eq!(named("str,str").leading(br#"["a","b"]"#).as_deref(), Ok(&b"a\0b"[..]));
        for text in ["[]", r#"["a",1,7,8]"#, "a", "[1]", "7", ""] {
            assert!(tuple.leading(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for name in [
            "(str)",
            "str,",
            "(str, u7)",
            "(str, u64",
            "str), (u64",
            "(str, u8)(u8, u8)",
            "u8,u8,u8,u8,u8,u8,u8",
            "(a, (b))",
            "(str, json)",
            "(str, option<json>)",
        ] {
            assert!(Type::of_argument(name).is_err(), "{name}");
        }
        let kind = Type::of_argument("([u8; 2], str, u8)").unwrap();
        for text in ["7", "[]", r#"["0001","a"]"#, r#"["00","a",1]"#, r#"["0001",2,1]"#, "["] {
            assert!(kind.read(text.as_bytes()).is_err(), "{text}");
        }
        let tuple = named("([u8; 2], str, u8)");
        for bytes in [&b""[..], b"ab", b"abc\0", b"abc\x07", b"ab\x01\0\x07", b"abc\0\x07\x07"] {
            assert_eq!(tuple.json(bytes), None, "{bytes:?}");
        }
        assert_eq!(tuple.json(b"abc\0\x07").unwrap().to_string(), r#"["6162","c",7]"#);
    }
}
