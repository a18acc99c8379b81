//! Every workload on every engine of this build, with a thousandth of the records: what comes back
//! is checked by the workloads. And they do notice: a floor that claims to keep what it is given
//! fails each of them.

use std::path::Path;

use crate::engine::{ENGINES, Engine, Mode, Null, Result, Setup, Visit, visit};
use crate::measure::{Order, Session};
use crate::record::{LeftOut, Measurement};
use crate::workload::{self, WORKLOADS};

/// Runs a workload; the lines it wrote.
fn lines<E: Engine>(workload: &str, mode: Mode) -> Result<String> {
    let dir = tempfile::tempdir()?;
    let order = Order {
        engine: E::NAME.to_owned(),
        workload: workload.to_owned(),
        mode,
        scale: 0.001,
        repeat: 0,
        page_bytes: None,
        dir: dir.path().to_owned(),
    };
    let mut out = Vec::new();
    workload::run::<E>(&mut Session::new::<E>(&order, &mut out))?;
    Ok(String::from_utf8(out)?)
}

struct Smoke;

impl Visit for Smoke {
    type Out = ();

    fn visit<E: Engine>(self) {
        for workload in WORKLOADS {
            for &mode in workload.modes {
                let what = format!("{} of {}, {}", workload.name, E::NAME, mode.name());
                let lines =
                    lines::<E>(workload.name, mode).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert!(!lines.is_empty(), "{what}: nothing was measured or left out");
                lines.lines().for_each(|line| understand(&what, line));
            }
        }
    }
}

fn understand(what: &str, line: &str) {
    if let Ok(measured) = serde_json::from_str::<Measurement>(line) {
        assert!(measured.operations > 0 && measured.seconds > 0.0, "{what}: {line}");
    } else {
        let left_out: LeftOut =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(!left_out.left_out.is_empty(), "{what}: {line}");
    }
}

#[test]
fn every_workload_runs_on_every_engine() {
    for engine in ENGINES.iter().filter(|engine| engine.absent.is_none()) {
        visit(engine.name, Smoke).unwrap();
    }
}

/// Names in the list are the engines' own.
#[test]
fn engines_have_their_names() {
    struct Name;
    impl Visit for Name {
        type Out = &'static str;

        fn visit<E: Engine>(self) -> &'static str {
            E::NAME
        }
    }
    for engine in ENGINES.iter().filter(|engine| engine.absent.is_none()) {
        assert_eq!(visit(engine.name, Name).unwrap(), engine.name);
    }
}

/// A floor that claims to keep what it is given.
struct Wrong(Null);

impl Engine for Wrong {
    const NAME: &'static str = "wrong";

    type Read<'e> = <Null as Engine>::Read<'e>;
    type Write<'e> = <Null as Engine>::Write<'e>;

    fn version() -> String {
        String::new()
    }

    fn options(_setup: &Setup) -> String {
        String::new()
    }

    fn offers(_mode: Mode) -> bool {
        true
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Wrong> {
        Null::open(dir, setup).map(Wrong)
    }

    fn read(&self) -> Result<Self::Read<'_>> {
        self.0.read()
    }

    fn write(&self) -> Result<Self::Write<'_>> {
        self.0.write()
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn wrong_answers_are_noticed() {
    // What begins and ends has no answers; what needs a limit to memory is left out where there is
    // none, what takes several processes is left out of an engine that keeps nothing, and multimaps
    // of one that has none.
    let with_answers =
        |name| !matches!(name, "fixed" | "multimap" | "cold" | "overwrite" | "processes");
    for workload in WORKLOADS.iter().filter(|workload| with_answers(workload.name)) {
        for &mode in workload.modes {
            assert!(lines::<Wrong>(workload.name, mode).is_err(), "{}", workload.name);
        }
    }
}
