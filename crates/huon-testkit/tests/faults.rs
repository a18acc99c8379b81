//! Every call to the system fails in turn: an error comes back, never a panic; the environment goes
//! on or says that it is poisoned; what was committed is there when it is opened again.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use huon::sim::{FaultPlan, SimDisk};
use huon::{Bytes, Durability, Env, Error, ReadTxn, TableDef, WriteTxn};
use huon_testkit::audit::audit;
use huon_testkit::figures;
use huon_testkit::history::panic_text;
use huon_testkit::model::{Model, TableId};
use huon_testkit::program::{self, Value};

const STATE: &[u8] = b"state";
const MAIN: TableDef<Bytes, Bytes> = TableDef::main();

#[derive(Clone, Copy, Debug)]
struct Setup {
    page_bytes: usize,
    spill_pages: usize,
    shrink_pages: usize,
}

/// A workload while it runs, and what may be there.
struct Run {
    setup: Setup,
    disk: SimDisk,
    env: Option<Env>,
    models: Vec<Model>,
    /// States that the newest snapshot may show.
    may: BTreeSet<usize>,
    /// States that may be there after a power cut.
    durable: usize,
    reader: Option<(ReadTxn, usize)>,
    errors: u64,
    /// Commits until flushes fail and lose what they should have written, and how many of them do.
    lose: Option<(usize, u64)>,
}

fn is_fault(error: &Error) -> bool {
    matches!(error, Error::Io(_) | Error::Poisoned | Error::TxnBroken)
}

impl Run {
    fn new(setup: Setup) -> Run {
        Run {
            setup,
            disk: SimDisk::new(2 << 20).unwrap().quiet(),
            env: None,
            models: vec![Model::default()],
            may: BTreeSet::from([0]),
            durable: 0,
            reader: None,
            errors: 0,
            lose: None,
        }
    }

    fn open(&mut self, plan: Option<&FaultPlan>) -> Result<(), Error> {
        let page_bytes = self.setup.page_bytes;
        let mut options = Env::options();
        options
            .page_bytes(page_bytes)
            .upper_bytes(2 << 20)
            .grow_bytes(8 * page_bytes as u64)
            .shrink_bytes((self.setup.shrink_pages * page_bytes) as u64)
            .spill_bytes(self.setup.spill_pages * page_bytes);
        self.env = Some(match plan {
            Some(plan) => options.open_faulty(&self.disk, plan)?,
            None => options.open_simulated(&self.disk)?,
        });
        Ok(())
    }

    /// Notes an error, which must be one that a fault explains.
    fn note<T>(&mut self, result: Result<T, Error>, what: &str) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                assert!(is_fault(&error), "{what}: an error that no fault explains: {error}");
                self.errors += 1;
                None
            }
        }
    }

    fn state_of(txn: &WriteTxn) -> Result<usize, Error> {
        let main = txn.open(&MAIN)?.expect("the main table");
        let number = main.get(txn, STATE)?.map(|b| u32::from_le_bytes(b.try_into().unwrap()));
        Ok(number.unwrap_or(0) as usize)
    }

    fn commit(&mut self, lazy: bool, work: fn(&mut Edit<'_>) -> Result<(), Error>) {
        match &mut self.lose {
            Some((0, count)) => {
                self.disk.fail_syncs(*count);
                self.lose = None;
            }
            Some((commits, _)) => *commits -= 1,
            None => {}
        }
        let Some(env) = self.env.clone() else { return };
        if env.info().expect("the state of the environment").poisoned {
            assert!(matches!(env.write(), Err(Error::Poisoned)), "a poisoned one cannot write");
        }
        let Some(mut txn) = self.note(env.write(), "begin") else { return };
        let base = Run::state_of(&txn).expect("reading meets no fault");
        assert!(self.may.contains(&base), "writes on state {base}, not one of {:?}", self.may);
        let mut model = self.models[base].clone();
        let number = self.models.len();
        let page_bytes = self.setup.page_bytes;
        let done = (|| {
            work(&mut Edit { txn: &mut txn, model: &mut model, page_bytes })?;
            let main = txn.create(&MAIN)?;
            main.put(&mut txn, STATE, &(number as u32).to_le_bytes())
        })();
        if self.note(done, "change").is_none() {
            self.may = BTreeSet::from([base]);
            return;
        }
        let records = model.table_mut(TableId::MAIN).unwrap();
        records.put(STATE.to_vec(), STATE, &(number as u32).to_le_bytes());
        self.models.push(model);
        let durability = if lazy { Durability::Lazy } else { Durability::Durable };
        let committed = txn.commit_with(durability);
        // An error after the seal leaves it open.
        self.may = BTreeSet::from([base, number]);
        if self.note(committed, "commit").is_some() {
            self.may = BTreeSet::from([number]);
            if !lazy {
                self.durable = number;
            }
        }
    }

    /// What a new reader sees is one of the states that may be there, and whole.
    fn look(&mut self, what: &str) {
        let Some(env) = &self.env else { return };
        let txn = env.read().expect("readers go on");
        let found = self.shown(&txn).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
        let last = *self.may.last().unwrap();
        assert!(found <= last, "{what}: state {found}");
        if let Some((txn, state)) = &self.reader {
            self.models[*state].compare(txn).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
        }
    }

    fn shown(&self, txn: &ReadTxn) -> Result<usize, String> {
        let main = txn.open(&MAIN).map_err(|e| e.to_string())?.unwrap();
        let number = main.get(txn, STATE).map_err(|e| e.to_string())?;
        let number = number.map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap())) as usize;
        self.models[number].compare(txn)?;
        Ok(number)
    }

    fn park(&mut self) {
        let Some(env) = &self.env else { return };
        let txn = env.read().expect("readers go on");
        let state = self.shown(&txn).expect("a whole snapshot");
        self.reader = Some((txn, state));
    }

    fn workload(&mut self, plan: &FaultPlan) {
        // A real file is made under another name first; the simulated one is there or not.
        self.open(None).expect("a new environment");
        let opened = self.open(Some(plan));
        self.note(opened, "open");
        self.commit(false, |e| (0..20).try_for_each(|n| e.put(2, n, 30)));
        self.park();
        self.commit(true, |e| (0..10).try_for_each(|n| e.put(4, n, 400)));
        self.commit(false, |e| {
            (0..60).try_for_each(|n| e.put(12, n, 40))?;
            e.nested()
        });
        self.look("in the middle");
        self.commit(true, |e| (0..30).try_for_each(|n| e.delete(12, n)));
        if let Some(env) = self.env.clone() {
            let synced = env.sync();
            self.note(synced, "sync");
        }
        self.commit(false, |e| e.drop_table(12));
        self.reader = None;
        self.commit(true, |e| e.put(2, 3, 2000));
        self.commit(false, |e| e.put(2, 4, 1));
        self.look("before closing");
        let quiet = self.close(plan);
        let fired = plan.fired();
        let opened = self.open(Some(plan));
        self.settle(quiet && plan.fired() == fired && self.errors == 0);
        if self.note(opened, "open again").is_some() {
            self.look("opened again");
        }
        self.commit(false, |e| e.put(8, 1, 10));
        self.commit(true, |e| e.delete(2, 4));
        let quiet = self.close(plan);
        self.settle(quiet);
    }

    /// Closes; whether everything that was committed must still be there.
    fn close(&mut self, plan: &FaultPlan) -> bool {
        let Some(env) = self.env.take() else { return true };
        self.reader = None;
        let poisoned = env.info().expect("the state of the environment").poisoned;
        let fired = plan.fired();
        drop(env);
        !poisoned && plan.fired() == fired
    }

    /// After a failed flush only what was durable is sure to be there.
    fn settle(&mut self, quiet: bool) {
        if !quiet {
            let last = *self.may.last().unwrap();
            self.may = (self.durable..=last).collect();
        }
    }

    /// Opens without faults: everything that was promised is there, and it works.
    fn judge(&mut self) {
        self.open(None).expect("it opens once nothing fails");
        let env = self.env.clone().unwrap();
        audit(&env).unwrap_or_else(|what| panic!("at the end: {what}"));
        let found = self.shown(&env.read().unwrap()).unwrap_or_else(|what| panic!("{what}"));
        assert!(self.may.contains(&found), "state {found}, not in {:?}", self.may);
        self.may = BTreeSet::from([found]);
        self.errors = 0;
        self.commit(false, |e| (0..9).try_for_each(|n| e.put(2, n * 5, 50)));
        self.commit(true, |e| e.put(10, 7, 50));
        assert_eq!(self.errors, 0, "it works once nothing fails");
        audit(&env).unwrap_or_else(|what| panic!("after the end: {what}"));
        self.look("after the end");
    }
}

struct Edit<'e> {
    txn: &'e mut WriteTxn,
    model: &'e mut Model,
    page_bytes: usize,
}

impl Edit<'_> {
    fn put(&mut self, id: u8, n: u64, bytes: usize) -> Result<(), Error> {
        let id = TableId(id);
        let table = self.txn.create(&id.def())?;
        let key = program::key(id.order(), self.page_bytes, n);
        let value = Value { bytes, seed: n }.make();
        table.put(self.txn, &key, &value)?;
        self.model.create(id);
        self.model.table_mut(id).unwrap().put(id.order().sort_key(&key), &key, &value);
        Ok(())
    }

    fn delete(&mut self, id: u8, n: u64) -> Result<(), Error> {
        let id = TableId(id);
        let Some(table) = self.txn.open(&id.def())? else { return Ok(()) };
        let key = program::key(id.order(), self.page_bytes, n);
        table.delete(self.txn, &key)?;
        self.model.table_mut(id).unwrap().delete(&id.order().sort_key(&key));
        Ok(())
    }

    fn drop_table(&mut self, id: u8) -> Result<(), Error> {
        let id = TableId(id);
        let Some(table) = self.txn.open(&id.def())? else { return Ok(()) };
        table.drop_table(self.txn)?;
        self.model.drop_table(id);
        Ok(())
    }

    /// A level that is undone, also when it failed.
    fn nested(&mut self) -> Result<(), Error> {
        let table = self.txn.create(&TableId(6).def())?;
        self.model.create(TableId(6));
        let undone = self.txn.nested(|child| {
            for n in 0..40u32 {
                table.put(child, &n.to_le_bytes(), &[7; 30])?;
            }
            Err::<(), Error>(Error::Invalid("undone"))
        });
        match undone {
            Err(Error::Invalid(_)) => Ok(()),
            other => other,
        }
    }
}

fn run(setup: Setup, plan: &FaultPlan, name: &str) -> u64 {
    let mut run = Run::new(setup);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        run.workload(plan);
        if plan.fired() > 0 {
            run.judge();
        } else {
            assert_eq!(run.errors, 0, "nothing failed, and there were errors");
        }
    }));
    if let Err(panic) = ran {
        panic!("{name}, {setup:?}, first fault {:?}: {}", plan.first_fired(), panic_text(&*panic));
    }
    plan.fired()
}

/// A flush fails and what it should have written is gone once the cache is dropped, while later
/// flushes succeed.
#[test]
fn failed_flushes_lose_data() {
    let mut faults = 0;
    for (page_bytes, spill_pages, shrink_pages) in [(256, 8, 4), (512, 1000, 0), (4096, 8, 0)] {
        for (commit, count) in (0..9).flat_map(|commit| [(commit, 1), (commit, 2)]) {
            let mut run = Run::new(Setup { page_bytes, spill_pages, shrink_pages });
            run.disk = run.disk.lossy();
            run.lose = Some((commit, count));
            let ran = catch_unwind(AssertUnwindSafe(|| {
                run.workload(&FaultPlan::new());
                run.disk.fail_syncs(0);
                run.settle(false);
                run.judge();
            }));
            if let Err(panic) = ran {
                panic!("pages of {page_bytes}, commit {commit}: {}", panic_text(&*panic));
            }
            faults += count;
        }
    }
    figures::add("fault", faults);
}

/// A failed flush may have lost what it should have written, and the next one succeeds without it:
/// so the
/// commit is not acknowledged, and nobody commits before the environment was opened anew.
#[test]
fn a_failed_flush_is_final_for_everybody() {
    for large in [false, true] {
        let disk = SimDisk::new(16 << 20).unwrap().lossy();
        let open = || Env::options().open_simulated(&disk).unwrap();
        let (first, second) = (open(), open());
        let put = |env: &Env, key: &[u8]| {
            let bytes = if large { 2 << 20 } else { 10 };
            env.update(|txn| txn.create(&MAIN)?.put(txn, key, &vec![1; bytes]).map(drop))
        };
        put(&first, b"kept").unwrap();
        let reader = second.read().unwrap();
        disk.fail_syncs(1);
        assert!(put(&first, b"lost").is_err(), "a commit whose flush failed is acknowledged");
        for env in [&first, &second] {
            assert!(matches!(env.write(), Err(Error::Poisoned)));
            assert!(matches!(env.sync(), Err(Error::Poisoned)));
        }
        let main = reader.open(&MAIN).unwrap().unwrap();
        assert!(main.contains(&reader, b"kept").unwrap(), "readers go on");
        drop((reader, first, second));
        let env = open();
        let txn = env.read().unwrap();
        let main = txn.open(&MAIN).unwrap().unwrap();
        assert!(main.contains(&txn, b"kept").unwrap());
        assert!(env.check().unwrap().is_clean());
        put(&env, b"again").unwrap();
    }
}

#[test]
fn every_call_fails_in_turn() {
    const ERRORS: [(&str, i32); 3] = [("EIO", 5), ("ENOSPC", 28), ("EINTR", 4)];
    let mut faults = 0;
    for (page_bytes, spill_pages, shrink_pages) in [(256, 8, 4), (512, 1000, 4), (4096, 8, 0)] {
        let setup = Setup { page_bytes, spill_pages, shrink_pages };
        let counting = FaultPlan::new();
        run(setup, &counting, "no fault");
        for call in 0..counting.calls() {
            for (error, errno) in ERRORS {
                for (forever, torn) in [(false, 0), (true, 0), (false, 700), (true, 100)] {
                    let plan = FaultPlan::new();
                    match forever {
                        true => plan.fail_from(call, errno),
                        false => plan.fail_once(call, errno),
                    }
                    plan.tear_writes(torn);
                    let name =
                        format!("call {call}, {error}, for ever: {forever}, {torn} bytes written");
                    // What failed for good before the end is healed by whoever judges.
                    faults += u64::from(run(setup, &plan, &name) > 0);
                }
            }
        }
        println!("{setup:?}: {} calls, {faults} faults", counting.calls());
    }
    figures::add("fault", faults);
}
