//! What the features of the engine add: reports that serialise, and events for a program's log.

use std::cell::RefCell;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use huon::{
    Bytes, Contents, Durability, Env, Error, RecordVisitor, SlowReaderAnswer, TableDef, TableStat,
    U64,
};
use serde_json::{Value, json};

const T: TableDef<U64, Bytes> = TableDef::new("t");

fn fill(env: &Env, byte: u8) -> huon::Result<()> {
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        (0..200).try_for_each(|n| t.put(txn, n, &[byte; 2000]).map(drop))
    })
}

#[test]
fn reports_serialise() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::open(dir.path().join("a.huon")).unwrap();
    fill(&env, 1).unwrap();
    env.update(|txn| txn.create_table(&TableDef::<U64, U64>::named(b"\xff")).map(drop)).unwrap();
    let reader = env.read().unwrap();

    let info = serde_json::to_value(env.info().unwrap()).unwrap();
    assert_eq!(info["newest"], json!(reader.id()));
    assert_eq!(info["readers"][0]["pid"], json!(std::process::id()));
    let uuid = info["uuid"].as_str().unwrap();
    let groups: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12], "{uuid}");

    let stat = serde_json::to_value(env.stat().unwrap()).unwrap();
    let names: Vec<&Value> =
        stat["tables"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, [&json!(""), &json!("t"), &json!([255])], "a name that is no text is bytes");
    assert_eq!(stat["tables"][1]["entries"], json!(200));

    let report = serde_json::to_value(env.check().unwrap()).unwrap();
    assert_eq!((&report["problem_count"], &report["problems"]), (&json!(0), &json!([])));
    let metas = serde_json::to_value(env.metas().unwrap()).unwrap();
    assert!(metas.as_array().unwrap().iter().any(|m| m["state"]["whole"]["is_newest"] == true));
    assert_eq!(serde_json::to_value(env.recovery()).unwrap(), json!("new"));
    assert_eq!(serde_json::to_value(env.settings()).unwrap()["durability"], json!("durable"));
    let mut text = Vec::new();
    let dumped = huon_text::dump(&env, &mut text, huon_text::DumpOptions::new().table("t"));
    let dumped = serde_json::to_value(dumped.unwrap()).unwrap();
    assert_eq!((&dumped["records"], &dumped["skipped"]), (&json!(200), &json!([])));
    let loaded = huon_text::load(&env, &mut &text[..], huon_text::LoadOptions::new().table("u"));
    let loaded = serde_json::to_value(loaded.unwrap()).unwrap();
    assert_eq!((&loaded["records"], &loaded["stopped"]), (&json!(200), &json!(false)));
    let mut kinds = Vec::new();
    env.visit_pages(&mut |page| {
        kinds.push(serde_json::to_value(page).unwrap());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(kinds.iter().any(|page| page["kind"] == "leaf" && page["table"] == "t"), "{kinds:?}");

    let mut seen = Seen(Value::Null);
    env.visit_records(&mut seen).unwrap();
    assert_eq!(seen.0["tables"][1]["name"], json!("t"));
    assert_eq!(seen.0["markers"]["values"], json!([0, 0, 0]));
    drop(reader);
    assert_eq!(serde_json::to_value(env.close().unwrap()).unwrap(), json!("fully"));
}

/// The contents as they serialise; no records.
struct Seen(Value);

impl RecordVisitor for Seen {
    fn begin(&mut self, contents: &Contents) -> ControlFlow<()> {
        self.0 = serde_json::to_value(contents).unwrap();
        ControlFlow::Continue(())
    }

    fn table(&mut self, _: &TableStat) -> ControlFlow<(), bool> {
        ControlFlow::Continue(false)
    }

    fn record(&mut self, _: &[u8], _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn readers_that_retain_pages_serialise() {
    let dir = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Value::Null));
    let notes = told.clone();
    let env = Env::options()
        .max_bytes(1 << 20)
        .on_slow_reader(move |slow| {
            *notes.lock().unwrap() = serde_json::to_value(slow).unwrap();
            SlowReaderAnswer::GiveUp
        })
        .open(dir.path().join("a.huon"))
        .unwrap();
    fill(&env, 1).unwrap();
    let reader = env.read().unwrap();
    fill(&env, 2).unwrap();
    let Err(Error::MapFull(full)) = fill(&env, 3) else { panic!("it fits") };
    let slow = told.lock().unwrap();
    assert_eq!((&slow["own"], &slow["full"]), (&json!(true), &json!(true)));
    assert_eq!(slow["reader"]["txnid"], json!(reader.id()));
    let full = serde_json::to_value(&*full).unwrap();
    assert_eq!(full["limit_bytes"], json!(1 << 20));
    assert_eq!(full["readers"][0]["pid"], json!(std::process::id()));
    assert!(full["readers"][0]["retained_bytes"].as_u64() >= Some(100_000), "{full}");
}

thread_local! {
    /// What was told in this thread. One subscriber serves all: those of single threads do not hear
    /// of events that another thread met first, without one.
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Writes to the log of the thread.
struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The events of this thread while `work` runs.
fn told(work: impl FnOnce() -> huon::Result<()>) -> String {
    static START: Once = Once::new();
    START.call_once(|| {
        tracing_subscriber::fmt()
            .with_writer(|| Log)
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .without_time()
            .init();
    });
    LOG.take();
    work().unwrap();
    String::from_utf8(LOG.take()).unwrap()
}

#[test]
fn commits_flushes_and_recoveries_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let said = told(|| {
        let env = Env::open(&path)?;
        fill(&env, 1)?;
        env.update(|_| Ok(()))?;
        env.close().map(drop)
    });
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines.len(), 3, "what changes nothing is not told:\n{said}");
    assert!(lines[0].starts_with("INFO huon: opened path=") && lines[0].ends_with("recovery=New"));
    assert!(lines[1].starts_with("DEBUG huon: flushed snapshot="), "{said}");
    assert!(lines[2].starts_with("DEBUG huon: committed snapshot="), "{said}");
    assert!(lines[2].ends_with("durability=Durable"), "{said}");

    let env = Env::open(&path).unwrap();
    let mut txn = env.write().unwrap();
    txn.create_table(&T).unwrap().put(&mut txn, 1, b"lazy").unwrap();
    txn.commit_with(Durability::Lazy).unwrap();
    env.close_without_flush();
    let said = told(|| fill(&Env::open(&path)?, 2));
    for event in ["recovery=Newest", "repaired snapshot=", "committed snapshot="] {
        assert!(said.contains(event), "no {event:?} in\n{said}");
    }
}

#[test]
fn a_reader_that_keeps_pages_is_told_once_for_each_want() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = Env::options()
        .max_bytes(1 << 20)
        .on_slow_reader(|slow| match slow.retries {
            0..3 => {
                std::thread::sleep(Duration::from_millis(1));
                SlowReaderAnswer::Retry
            }
            _ => SlowReaderAnswer::GiveUp,
        })
        .open(&path)
        .unwrap();
    fill(&env, 1).unwrap();
    let reader = env.read().unwrap();
    fill(&env, 2).unwrap();
    let said = told(|| {
        assert!(matches!(fill(&env, 3), Err(huon::Error::MapFull(_))));
        Ok(())
    });
    let slow =
        format!("WARN huon: slow reader pid={} snapshot={}", std::process::id(), reader.id());
    assert_eq!(said.matches(&slow).count(), 1, "{said}");
}
