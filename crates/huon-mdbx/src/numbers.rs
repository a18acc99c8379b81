//! The numbers that the header gives its names, for tests that compare ours with them.

const HEADER: &str = include_str!("../include/mdbx.h");

/// Every enumerator of the header that has a number, without its `MDBX_`. What is built from others
/// is computed; those that are numbers of `errno` are left out.
pub(crate) fn of_the_header() -> Vec<(String, i64)> {
    let mut known: Vec<(String, i64)> = Vec::new();
    for body in enums() {
        let mut next = 0;
        for item in body.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (name, expression) = item.split_once('=').unwrap_or((item, ""));
            let number = match expression.trim() {
                "" => Some(next),
                sum => sum.split('|').map(|part| number(part.trim(), &known)).sum(),
            };
            if let Some(number) = number {
                known.push((name.trim().trim_start_matches("MDBX_").to_owned(), number));
                next = number + 1;
            }
        }
    }
    assert!(known.len() > 150, "the header was not understood");
    known
}

/// What stands between the braces of each enumeration, without comments.
fn enums() -> Vec<String> {
    let mut text = String::new();
    for (at, part) in HEADER.split("/*").enumerate() {
        text += if at == 0 { part } else { part.split_once("*/").expect("an end").1 };
    }
    let starts = text.split("\nenum ").skip(1);
    starts.map(|rest| rest[rest.find('{').unwrap() + 1..rest.find('}').unwrap()].into()).collect()
}

fn number(part: &str, known: &[(String, i64)]) -> Option<i64> {
    let bare = part.trim_matches(['(', ')']);
    match bare.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None if bare == "INT32_MIN" => Some(i64::from(i32::MIN)),
        None if bare.starts_with("MDBX_") => {
            known.iter().find(|(name, _)| *name == bare[5..]).map(|(_, number)| *number)
        }
        None => bare.parse().ok(),
    }
}
