//! The cases that every language runs: `bindings/conformance` has them, made here. A model says
//! what each step must answer, and the interface in C answers so.

mod calls;
mod cases;
mod model;
mod random;
mod step;
mod text;

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::common::*;
use calls::Calls;
use model::Model;
use step::{Part, Step};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    steps: Vec<Step>,
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/conformance")
}

/// Steps with what the model says of each.
fn expected(steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let mut model = Model::default();
    let run = |step: Step| {
        let answer = model.run(&step);
        step.expecting(answer)
    };
    steps.into_iter().map(run).collect()
}

/// The cases of a file, which is written first if that is asked for.
fn read(name: &str, cases: &[(String, Vec<Step>)]) -> Vec<Case> {
    let (path, text) = (dir().join(name), text::file(cases));
    if std::env::var_os("HUON_WRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let is_same = std::fs::read_to_string(&path).unwrap_or_default() == text;
    assert!(is_same, "{name} is stale: HUON_WRITE=1 cargo test -p huon-capi conformance");
    let file: File = serde_json::from_str(&text).expect("a file of cases");
    assert_eq!(file.format, 1);
    file.cases
}

/// Runs the steps of a part, or all, on the environment at a path.
fn run(case: &Case, path: &Path, part: Option<Part>, durability: c_int) -> usize {
    let mut calls = Calls::new(path, durability);
    let steps = || case.steps.iter().filter(|step| part.is_none() || step.part == part);
    for step in steps() {
        if let Some(problem) = step.problem(&calls.run(step)) {
            panic!("{}: {problem}", case.name);
        }
    }
    calls.close();
    steps().count()
}

/// Each of the file's names once, since a failed case is told by its name.
fn assert_names_differ(cases: &[Case]) {
    let mut seen = BTreeMap::new();
    let twice = cases.iter().find(|case| seen.insert(&case.name, ()).is_some());
    assert!(twice.is_none(), "two cases are named {:?}", twice.map(|case| &case.name));
}

#[test]
fn all_cases_are_answered_as_the_file_says() {
    let cases = read("cases.json", &cases::all());
    assert_names_differ(&cases);
    let mut steps = 0;
    for case in &cases {
        let dir = tempfile::tempdir().unwrap();
        steps += run(case, &dir.path().join("case.huon"), None, HUON_LAZY);
    }
    println!("conformance: {} cases, {steps} steps", cases.len());
    huon_testkit::figures::language("C and C++", steps as u64);
}

/// Files of other languages are looked at, and others look at ours, where the variables say so.
#[test]
fn a_file_is_exchanged() {
    let case = read("exchange.json", &[cases::exchange()]).remove(0);
    let write = |path: &Path| run(&case, path, Some(Part::Write), HUON_DURABLE);
    let look = |path: &Path| run(&case, path, Some(Part::Read), HUON_DURABLE);
    let (to, from) =
        (std::env::var_os("HUON_EXCHANGE_WRITE"), std::env::var_os("HUON_EXCHANGE_READ"));
    if let Some(path) = &to {
        write(path.as_ref());
    }
    for path in from.iter().flat_map(std::env::split_paths) {
        look(&path);
    }
    if to.is_none() && from.is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("case.huon");
        assert_eq!(write(&path) + look(&path), case.steps.len());
    }
}

#[test]
fn a_wrong_answer_is_noticed() {
    let step = |line: &str, answer| text::step(line).expecting(answer);
    let get = step("get w t a", Ok("31".into()));
    assert_eq!(get.problem(&Ok("31".into())), None);
    for wrong in [Ok("32".into()), Ok(serde_json::Value::Null), Err("Misuse")] {
        assert!(get.problem(&wrong).is_some(), "{wrong:?}");
    }
    let misuse = step("put w t a 1", Err("Misuse"));
    assert_eq!(misuse.problem(&Err("Misuse")), None);
    assert!(misuse.problem(&Ok(serde_json::Value::Null)).is_some());
    assert!(misuse.problem(&Err("Busy")).is_some());
}
