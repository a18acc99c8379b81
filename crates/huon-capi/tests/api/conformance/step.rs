//! A step of a case: what is called, and what must come of it.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// What comes of a step: its answer, or the name of an error.
pub(super) type Answer = Result<Value, &'static str>;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Op {
    Read,
    Write,
    TryWrite,
    BeginNested,
    Commit,
    Abort,
    Reopen,
    Create,
    HasTable,
    Tables,
    Drop,
    Clear,
    Put,
    Insert,
    Get,
    Has,
    Delete,
    PutMany,
    GetMany,
    DeleteRange,
    Scan,
    ScanPut,
    ScanDelete,
    First,
    Last,
    Count,
    Sequence,
    MultiPut,
    MultiValues,
    MultiDelete,
    MultiDeleteAll,
    MultiScan,
}

impl Op {
    /// Whether what it answers is looked at.
    pub(super) fn answers(self) -> bool {
        let begins_or_ends = [Op::Read, Op::Write, Op::TryWrite, Op::BeginNested];
        let changes = [Op::Create, Op::Drop, Op::Clear, Op::Put, Op::PutMany];
        let others = [Op::Commit, Op::Abort, Op::Reopen];
        ![&begins_or_ends[..], &changes, &others].iter().any(|ops| ops.contains(&self))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Bytes,
    Multi,
}

/// Of the case that programs of several languages do in turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Write,
    Read,
}

/// The fields stand in the order in which the file has them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<Part>,
    pub(super) op: Op,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) read_only: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) txn: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) parent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) table: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pairs: Option<Vec<(Blob, Blob)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keys: Option<Vec<Blob>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prefix: Option<Blob>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) reverse: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<u64>,
    /// The expected answer, which may be null.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub(super) is: Option<Value>,
    /// The expected error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A null that is there is an answer, too.
fn there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Step {
    pub(super) fn new(op: Op) -> Step {
        Step {
            part: None,
            op,
            read_only: false,
            txn: String::new(),
            parent: String::new(),
            table: String::new(),
            kind: None,
            key: None,
            value: None,
            pairs: None,
            keys: None,
            from: None,
            to: None,
            prefix: None,
            reverse: false,
            limit: None,
            by: None,
            is: None,
            error: None,
        }
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key.as_ref().expect("a key").0
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.value.as_ref().expect("a value").0
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    /// Whether a key lies in the range that the step names.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        let is = |bound: &Option<Blob>, test: fn(&[u8], &[u8]) -> bool| {
            bound.as_ref().is_none_or(|bound| test(key, &bound.0))
        };
        is(&self.from, |key, from| key >= from)
            && is(&self.to, |key, to| key < to)
            && is(&self.prefix, |key, prefix| key.starts_with(prefix))
    }

    /// Notes what must come of it.
    pub(super) fn expecting(mut self, answer: Answer) -> Step {
        match answer {
            Ok(answer) => self.is = self.op.answers().then_some(answer),
            Err(name) => self.error = Some(name.to_owned()),
        }
        self
    }

    /// What is wrong about what came of it.
    pub(super) fn problem(&self, answer: &Answer) -> Option<String> {
        let is_right = match (answer, &self.error) {
            (Ok(answer), None) => self.is.as_ref().is_none_or(|is| is == answer),
            (Err(name), Some(error)) => name == error,
            _ => false,
        };
        let text = || serde_json::to_string(self).expect("a text");
        (!is_right).then(|| format!("{}\ngave {answer:?}", text()))
    }
}

/// Bytes: hexadecimal digits, or how often a few bytes are repeated.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Blob(pub(super) Vec<u8>);

/// Bytes from here on are written as repeated ones, if they are.
const REPEATED_FROM: usize = 32;

/// Bytes as the file has them.
pub(super) fn blob(bytes: &[u8]) -> Value {
    if bytes.len() >= REPEATED_FROM {
        let repeats = |len: &usize| {
            bytes.len().is_multiple_of(*len)
                && bytes.chunks(*len).all(|part| part == &bytes[..*len])
        };
        if let Some(len) = (1..=8).find(repeats) {
            return json!({"repeat": hex(&bytes[..len]), "times": bytes.len() / len});
        }
    }
    Value::String(hex(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    text.len().is_multiple_of(2).then(|| (0..text.len()).step_by(2).map(digit).collect())?
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", blob(&self.0))
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        blob(&self.0).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Blob, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Plain(String),
            Repeated { repeat: String, times: usize },
        }
        let (text, times) = match Form::deserialize(from)? {
            Form::Plain(text) => (text, 1),
            Form::Repeated { repeat, times } => (repeat, times),
        };
        let bytes = unhex(&text).ok_or_else(|| D::Error::custom(format!("no bytes: {text}")))?;
        Ok(Blob(bytes.repeat(times)))
    }
}
