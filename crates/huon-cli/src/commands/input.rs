//! Keys and values from arguments and from standard input.

use std::ffi::OsStr;
use std::io::{self, BufRead, Read};

use crate::fail::{Code, Failure};
use crate::text::Form;

pub(super) fn is_standard(text: &OsStr) -> bool {
    text == "-"
}

/// The value of an argument, or all of standard input.
pub(super) fn value_of(form: Form, text: &OsStr) -> Result<Vec<u8>, Failure> {
    if !is_standard(text) {
        return form.argument("value", text);
    }
    let mut value = Vec::new();
    io::stdin().lock().read_to_end(&mut value).map_err(|e| input_failed(&e))?;
    Ok(value)
}

/// Calls `act` with each line of standard input, without its end; errors name the line.
pub(super) fn each_line(mut act: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(|e| input_failed(&e))? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        act(text).map_err(|failure| match failure {
            Failure::Told(Code::Usage, text) => {
                Failure::usage(format!("line {number} of standard input: {text}"))
            }
            other => other,
        })?;
    }
    Ok(())
}

pub(super) fn input_failed(error: &io::Error) -> Failure {
    Failure::io("cannot read standard input", error)
}

pub(super) fn key_of(form: Form, text: &[u8]) -> Result<Vec<u8>, Failure> {
    form.read(text).map_err(wrong)
}

pub(super) fn wrong(why: &str) -> Failure {
    Failure::usage(format!("{why}; nothing was changed."))
}
