//! LMDB's own library, in a child process that goes through histories and says what came of each.
//!
//! 1. The child says when it begins a history and what its trace was, so that one that ends the
//!    process, or never ends, is known, and the next child goes on behind it.

use std::ffi::{CStr, c_int};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use huon_testkit::c_calls::suite::{CALLS, shortened};
use huon_testkit::c_calls::{Interface, generate, run};
use libloading::Library;

use crate::api::Api;
use crate::library;

/// The name that programs are linked to; another library can be named instead.
const LIBRARY: &str = "liblmdb.so.0";
const OTHER_LIBRARY: &str = "HUON_LMDB_LIBRARY";
/// What a child is told by, and begins its lines with.
const PART: &str = "HUON_LMDB_SEEDS";
const MARK: &str = "@lmdb ";
/// The patches of 0.9 whose ways the rules of the model know.
const KNOWN: [c_int; 2] = [24, 36];
/// So long a history may take.
const SECONDS_MAX: u32 = 60;

pub(crate) fn is_child() -> bool {
    std::env::var_os(PART).is_some()
}

fn load() -> Result<(&'static Api, c_int), String> {
    let name = std::env::var(OTHER_LIBRARY).unwrap_or_else(|_| LIBRARY.into());
    // SAFETY: what LMDB does when it is loaded is nothing.
    let library = unsafe { Library::new(&name) };
    let library = library.map_err(|_| "LMDB's library is not installed".to_string())?;
    let library: &'static Library = Box::leak(Box::new(library));
    let api = Api::of(library);
    let (mut minor, mut patch) = (0, 0);
    // SAFETY: the pointers are good for writing, or null; the text lives for ever.
    let text =
        unsafe { CStr::from_ptr((api.mdb_version)(std::ptr::null_mut(), &mut minor, &mut patch)) };
    let text = text.to_string_lossy();
    if minor == 9 && KNOWN.contains(&patch) && !text.contains("Huon") {
        Ok((Box::leak(Box::new(api)), patch))
    } else {
        Err(format!("the rules are for LMDB 0.9.24 and 0.9.36, and this is {text}"))
    }
}

/// The patch of LMDB 0.9 that is installed, or why there is nothing to compare with.
pub(crate) fn version() -> Result<u32, String> {
    load().map(|(_, patch)| patch as u32)
}

/// Goes through the histories of the seeds that it is given.
pub(crate) fn play() {
    let (api, patch) = load().expect("the library that the parent has found");
    let seeds = std::env::var(PART).expect("seeds");
    for seed in seeds.split(',') {
        let seed = seed.parse().expect("a number");
        say(&format!("begin {seed}"));
        // SAFETY: a signal ends a history that does not end.
        unsafe { libc::alarm(SECONDS_MAX) };
        let program = generate::make(seed, CALLS, Interface::Lmdb, Some(patch as u32));
        let open = |program: &generate::Program| library(api, false, program);
        match run::run(&program, open) {
            Ok(counts) => say(&format!("trace {}", counts.trace)),
            Err(failure) => {
                let text = shortened(&program, failure, open, None);
                say(&format!("other {}", text.replace('\n', "\r")));
            }
        }
    }
    say("end");
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{text}").expect("the parent listens");
}

/// The digests of all traces; `None` for a history that ended the process.
pub(crate) fn traces(test: &str, seeds: &[u64]) -> Vec<Option<u64>> {
    let mut traces = Vec::new();
    while traces.len() < seeds.len() {
        let mut child = start(test, &seeds[traces.len()..]);
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut begun = false;
        for line in lines.map_while(Result::ok) {
            let Some(said) = line.strip_prefix(MARK) else { continue };
            match said.split_once(' ') {
                Some(("begin", _)) => begun = true,
                Some(("trace", trace)) => {
                    traces.push(Some(trace.parse().expect("a number")));
                    begun = false;
                }
                Some((_, text)) => {
                    let seed = seeds[traces.len()];
                    panic!("LMDB, seed {seed}: {}", text.replace('\r', "\n"));
                }
                None => {}
            }
        }
        child.wait().expect("the child");
        assert!(begun || traces.len() == seeds.len(), "the child ended before it began");
        if begun {
            println!("seed {} ends LMDB's process", seeds[traces.len()]);
            traces.push(None);
        }
    }
    traces
}

fn start(test: &str, seeds: &[u64]) -> Child {
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(PART, seeds.join(",")).env_remove("HUON_FIGURES");
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a child")
}
