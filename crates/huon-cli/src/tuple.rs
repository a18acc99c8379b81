//! Keys of several parts, as FORMAT.md says they lie in a file, and as JSON arrays.

use serde_json::Value;

use crate::text::Form;
use crate::types::Type;

/// Parts that a key has at least, and at most.
const PARTS: std::ops::RangeInclusive<usize> = 2..=6;
/// What ends a part that has no length of its own.
const END: u8 = 0;
/// What stands before a byte that would be taken for another: 0 as 1, 1 as 2.
const MARK: u8 = 1;

/// The types of the parts of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tuple(Vec<Part>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    kind: Type,
    /// Its length in bytes, if all have one.
    bytes: Option<usize>,
}

impl Tuple {
    /// The parts that `name` names, as `(str, u64)` or `str,u64`.
    pub(crate) fn named(name: &str) -> Option<Tuple> {
        let inner = match name.strip_prefix('(') {
            Some(rest) => rest.strip_suffix(')')?,
            None => name,
        };
        let parts = inner.split(',').map(|part| Part::named(part.trim()));
        let parts = parts.collect::<Option<Vec<Part>>>()?;
        PARTS.contains(&parts.len()).then_some(Tuple(parts))
    }

    pub(crate) fn name(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|part| part.kind.name()).collect();
        format!("({})", names.join(", "))
    }

    /// `bytes` as a JSON array; `None` if they are of another type.
    pub(crate) fn json(&self, bytes: &[u8]) -> Option<Value> {
        let mut left = bytes;
        let last = self.0.len() - 1;
        let part = |(at, part): (usize, &Part)| {
            let bytes =
                if at == last { std::mem::take(&mut left).to_vec() } else { part.cut(&mut left)? };
            let fits = part.bytes.is_none_or(|length| length == bytes.len());
            part.json(&bytes).filter(|_| fits)
        };
        self.0.iter().enumerate().map(part).collect::<Option<Vec<Value>>>().map(Value::Array)
    }

    /// The bytes that a JSON array stands for; or what is wrong with it.
    pub(crate) fn of_json(&self, value: &Value) -> Result<Vec<u8>, String> {
        let Value::Array(values) = value else { return Err(self.refusal()) };
        if values.len() != self.0.len() {
            return Err(self.refusal());
        }
        let mut out = Vec::new();
        for (at, (part, value)) in self.0.iter().zip(values).enumerate() {
            let bytes = part.of_json(value)?;
            match part.bytes {
                Some(length) if length != bytes.len() => {
                    return Err(format!("{length} bytes are expected, not {value}"));
                }
                None if at + 1 < self.0.len() => {
                    bytes.iter().for_each(|&byte| match byte {
                        END | MARK => out.extend([MARK, byte + 1]),
                        byte => out.push(byte),
                    });
                    out.push(END);
                }
                _ => out.extend(bytes),
            }
        }
        Ok(out)
    }

    /// The bytes that a JSON array, as text, stands for.
    pub(crate) fn read(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let value = serde_json::from_slice::<Value>(text).map_err(|_| self.refusal())?;
        self.of_json(&value)
    }

    fn refusal(&self) -> String {
        let (count, names) = (self.0.len(), self.name());
        format!("a JSON array of {count} parts is expected, such as {names} takes")
    }
}

impl Part {
    fn named(name: &str) -> Option<Part> {
        let hex = |bytes| Some(Part { kind: Type::Hex, bytes });
        if let Some(length) = name.strip_prefix("[u8; ").and_then(|rest| rest.strip_suffix(']')) {
            return hex(Some(length.parse().ok()?));
        }
        match name {
            "bytes" | "hex" => hex(None),
            "uuid" => hex(Some(16)),
            "str" | "text" => Some(Part { kind: Type::Text, bytes: None }),
            name => {
                let kind = Type::named(name)?;
                let bytes = kind.length()?;
                Some(Part { kind, bytes: Some(bytes) })
            }
        }
    }

    /// Takes the part off the bytes of a key, of which it is not the last.
    fn cut(&self, left: &mut &[u8]) -> Option<Vec<u8>> {
        if let Some(length) = self.bytes {
            let (part, rest) = left.split_at_checked(length)?;
            *left = rest;
            return Some(part.to_vec());
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

    fn of_json(&self, value: &Value) -> Result<Vec<u8>, String> {
        match (&self.kind, value) {
            (Type::Hex, Value::String(digits)) => Ok(Form::Hex.read(digits.as_bytes())?),
            (kind, value) => kind.of_json(value),
        }
    }

    fn json(&self, bytes: &[u8]) -> Option<Value> {
        let (value, is_hex) = self.kind.json(bytes)?;
        // Text that is none has no place in an array of text.
        (self.kind == Type::Hex || !is_hex).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use huon::{Bytes, Codec, I32, Scratch, Str, U8, U64};

    use super::*;

    fn encoded<C: Codec>(item: C::In<'_>) -> Vec<u8> {
        C::encode(&item, &mut Scratch::default()).unwrap().to_vec()
    }

    #[test]
    fn keys_are_those_of_typed_tables() {
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
        ];
        for (name, text, bytes) in cases {
            let tuple = Tuple::named(name).unwrap();
            assert_eq!(tuple.json(&bytes).map(|value| value.to_string()).as_deref(), Some(text));
            assert_eq!(tuple.read(text.as_bytes()), Ok(bytes), "{name}");
        }
        assert_eq!(Tuple::named("str,u64"), Tuple::named("(text, u64)"));
        assert_eq!(Tuple::named("str,u64").unwrap().name(), "(text, u64)");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for name in ["(str)", "str,", "(str, u7)", "(str, u64", "u8,u8,u8,u8,u8,u8,u8", "(a, (b))"]
        {
            assert_eq!(Tuple::named(name), None, "{name}");
        }
        let tuple = Tuple::named("([u8; 2], str, u8)").unwrap();
        for text in ["7", "[]", r#"["0001","a"]"#, r#"["00","a",1]"#, r#"["0001",2,1]"#, "["] {
            assert!(tuple.read(text.as_bytes()).is_err(), "{text}");
        }
        for bytes in [&b""[..], b"ab", b"abc\0", b"abc\x07", b"ab\x01\0\x07", b"abc\0\x07\x07"] {
            assert_eq!(tuple.json(bytes), None, "{bytes:?}");
        }
        assert_eq!(tuple.json(b"abc\0\x07").unwrap().to_string(), r#"["6162","c",7]"#);
    }
}
