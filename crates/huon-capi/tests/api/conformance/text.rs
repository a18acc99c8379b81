//! Steps as short lines, `put w t apple 12`: what an operation needs stands in its place, what it
//! may have comes after it, as `from=a` or `reverse`.
//!
//! Bytes are text, `0xff00`, `''` for none, or `ab*5000` for repeated ones.

use serde_json::{Value, json};

use super::step::{Blob, Kind, Op, Part, Step, unhex};

/// The step of a line.
pub(super) fn step(line: &str) -> Step {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_else(|| panic!("{line}: it ends too early"));
    let mut first = word();
    let part = [("write:", Part::Write), ("read:", Part::Read)]
        .into_iter()
        .find(|(name, _)| *name == first)
        .map(|(_, part)| part);
    if part.is_some() {
        first = word();
    }
    let op: Op =
        serde_json::from_value(Value::from(first)).unwrap_or_else(|e| panic!("{line}: {e}"));
    let mut step = Step::new(op);
    step.part = part;
    for place in places(op) {
        match *place {
            "txn" => step.txn = word().to_owned(),
            "parent" => step.parent = word().to_owned(),
            "table" => step.table = word().to_owned(),
            "by" => step.by = Some(word().parse().expect("a number")),
            "key" => step.key = Some(bytes(word())),
            _ => step.value = Some(bytes(word())),
        }
    }
    match op {
        Op::GetMany => step.keys = Some(words.map(bytes).collect()),
        Op::PutMany => {
            let pair = |word: &str| word.split_once('=').map(|(k, v)| (bytes(k), bytes(v)));
            step.pairs = Some(words.map(|word| pair(word).expect("a pair")).collect());
        }
        _ => words.for_each(|word| extra(&mut step, word)),
    }
    step
}

/// What stands behind an operation.
fn places(op: Op) -> &'static [&'static str] {
    match op {
        Op::Reopen => &[],
        Op::Read | Op::Write | Op::TryWrite | Op::Commit | Op::Abort | Op::Tables => &["txn"],
        Op::BeginNested => &["txn", "parent"],
        Op::Put | Op::Insert | Op::MultiPut | Op::MultiDelete => &["txn", "table", "key", "value"],
        Op::Get | Op::Has | Op::Delete | Op::MultiValues | Op::MultiDeleteAll => {
            &["txn", "table", "key"]
        }
        Op::Sequence => &["txn", "table", "by"],
        Op::ScanPut => &["txn", "table", "value"],
        _ => &["txn", "table"],
    }
}

fn extra(step: &mut Step, word: &str) {
    match word.split_once('=').unwrap_or((word, "")) {
        ("read_only", _) => step.read_only = true,
        ("reverse", _) => step.reverse = true,
        ("multi", _) => step.kind = Some(Kind::Multi),
        ("from", key) => step.from = Some(bytes(key)),
        ("to", key) => step.to = Some(bytes(key)),
        ("prefix", key) => step.prefix = Some(bytes(key)),
        ("limit", number) => step.limit = Some(number.parse().expect("a number")),
        _ => panic!("{word} means nothing"),
    }
}

fn bytes(word: &str) -> Blob {
    if let Some((few, times)) = word.split_once('*') {
        return Blob(bytes(few).0.repeat(times.parse().expect("a number")));
    }
    Blob(match word.strip_prefix("0x") {
        Some(digits) => unhex(digits).expect("hexadecimal digits"),
        None => word.trim_matches('\'').as_bytes().to_vec(),
    })
}

/// A file of cases: a line for each step.
pub(super) fn file(cases: &[(String, Vec<Step>)]) -> String {
    let case = |(name, steps): &(String, Vec<Step>)| {
        let lines: Vec<String> =
            steps.iter().map(|step| serde_json::to_string(step).expect("a text")).collect();
        format!("{{\"name\": {}, \"steps\": [\n{}\n]}}", json!(name), lines.join(",\n"))
    };
    let cases: Vec<String> = cases.iter().map(case).collect();
    ascii(&format!("{{\"format\": 1, \"cases\": [\n{}\n]}}\n", cases.join(",\n")))
}

/// A text whose letters beyond those that can be printed are written as JSON can.
fn ascii(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        if letter == '\n' || (' '..='~').contains(&letter) {
            plain.push(letter);
        } else {
            let units = letter.encode_utf16(&mut [0; 2]).to_vec();
            units.iter().for_each(|unit| plain.push_str(&format!("\\u{unit:04x}")));
        }
    }
    plain
}
