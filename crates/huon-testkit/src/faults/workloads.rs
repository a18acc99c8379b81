//! What is done while something fails: small workloads that use every part of the engine.

use std::time::Duration;

use huon::Durability::{Durable, Lazy, NoMetaSync, Unsynced};
use huon::sim::SimDisk;
use huon::{CopyOptions, Env, Error};
use huon_text::{DumpOptions, LoadOptions, dump};

use super::{Crash, Edit, Run};
use crate::of_the_store;

/// A workload.
pub struct Workload {
    /// What it is about.
    pub name: &'static str,
    /// What is there before anything fails.
    pub before: fn(&mut Run<'_>),
    /// What is done while something fails.
    pub during: fn(&mut Run<'_>),
}

/// All of them.
pub const ALL: [Workload; 41] = [
    Workload { name: "open new", before: nothing, during: open_and_use },
    Workload { name: "open", before: closed, during: open_and_use },
    Workload { name: "join", before: open_elsewhere, during: open_and_use },
    Workload { name: "open after a kill", before: killed, during: open_and_use },
    Workload { name: "open after a power loss", before: cut, during: open_and_use },
    Workload { name: "repair", before: opened_after_cut, during: small_durable },
    Workload { name: "repair after a kill", before: opened_after_kill, during: small_durable },
    Workload { name: "small durable", before: filled, during: small_durable },
    Workload { name: "large durable", before: filled, during: large_durable },
    Workload { name: "lazy", before: filled, during: lazy },
    Workload { name: "no meta sync", before: filled, during: no_meta_sync },
    Workload { name: "unsynced", before: filled_unsynced, during: unsynced },
    Workload { name: "checkpoints", before: filled_with_checkpoints, during: checkpoints },
    Workload { name: "open with a journal", before: wants_a_journal, during: open_and_use },
    Workload { name: "journal", before: filled_with_a_journal, during: journaled },
    Workload { name: "replay", before: cut_with_a_journal, during: open_and_use },
    Workload { name: "tickets", before: filled, during: tickets },
    Workload { name: "spill", before: filled, during: spill },
    Workload { name: "nested", before: filled, during: nested },
    Workload { name: "nested beside readers", before: readers_elsewhere, during: nested },
    Workload { name: "nested among pieces", before: in_pieces, during: nested },
    Workload { name: "abort", before: filled, during: abort },
    Workload { name: "growth", before: filled, during: growth },
    Workload { name: "shrink", before: full_of_free_pages, during: shrink },
    Workload { name: "chunks", before: full_of_values, during: chunks },
    Workload { name: "compact", before: full_of_free_pages, during: compact },
    Workload { name: "compact pieces", before: in_pieces, during: compact },
    Workload { name: "tables", before: filled, during: tables },
    Workload { name: "multimaps", before: poured, during: multimaps },
    Workload { name: "many readers", before: nearly_all_slots, during: many_readers },
    Workload { name: "readers elsewhere", before: readers_elsewhere, during: small_durable },
    Workload { name: "beside a guest", before: guest_beside, during: beside_a_guest },
    Workload { name: "join a guest", before: guest_alone, during: open_and_use },
    Workload { name: "guest", before: open_elsewhere, during: read_as_guest },
    Workload { name: "guest alone", before: closed, during: read_as_guest },
    Workload { name: "close", before: lazily_filled, during: close_twice },
    Workload { name: "copy", before: filled, during: copy },
    Workload { name: "copy of pieces", before: in_pieces, during: copy },
    Workload { name: "load", before: filled, during: load },
    Workload { name: "look", before: filled, during: look },
    Workload { name: "look at pieces", before: in_pieces, during: look },
];

fn nothing(_: &mut Run<'_>) {}

fn fill(edit: &mut Edit<'_>) -> Result<(), Error> {
    (0..24).try_for_each(|n| edit.put(2, n, 30))?;
    (0..6).try_for_each(|n| edit.put(4, n, 400))?;
    edit.put(12, 1, 5000)
}

/// Open, with records in two tables and a large value, and a reader.
fn filled(run: &mut Run<'_>) {
    run.open();
    run.commit(Durable, fill);
    run.commit(Durable, |edit| edit.put(2, 3, 60));
    run.park();
}

fn lazily_filled(run: &mut Run<'_>) {
    filled(run);
    run.commit(Lazy, |edit| (0..9).try_for_each(|n| edit.put(8, n, 100)));
}

fn closed(run: &mut Run<'_>) {
    filled(run);
    run.close();
}

fn open_elsewhere(run: &mut Run<'_>) {
    closed(run);
    run.open_other();
}

/// Lazy commits on top of durable ones, and all clients are killed.
fn killed(run: &mut Run<'_>) {
    lazily_filled(run);
    run.crash(Crash::Kill);
}

fn cut(run: &mut Run<'_>) {
    lazily_filled(run);
    run.crash(Crash::PowerLoss);
}

fn opened_after_kill(run: &mut Run<'_>) {
    killed(run);
    run.open();
}

fn opened_after_cut(run: &mut Run<'_>) {
    cut(run);
    run.open();
}

/// A free tail that the next commits give back, and readers that hold none of it.
fn full_of_free_pages(run: &mut Run<'_>) {
    filled(run);
    run.unpark();
    run.commit(Durable, |edit| (0..90).try_for_each(|n| edit.put(6, n, 200)));
    run.commit(Durable, |edit| edit.clear(6));
}

/// Large values, each on pages of its own.
fn full_of_values(run: &mut Run<'_>) {
    filled(run);
    run.commit(Durable, |edit| (0..350).try_for_each(|n| edit.put_pages(8, n, 1)));
}

/// Free space in so many pieces that its list needs pages of its own.
fn in_pieces(run: &mut Run<'_>) {
    full_of_values(run);
    run.commit(Durable, |edit| (0..350).step_by(2).try_for_each(|n| edit.delete(8, n)));
    run.unpark();
    run.commit(Durable, |edit| edit.put(2, 4, 61));
}

/// A multimap with values in a cell, and in a tree of their own.
fn poured(run: &mut Run<'_>) {
    filled(run);
    run.commit(Durable, |edit| {
        edit.pour(26, 12, 0..4)?;
        edit.pour(14, 12, 0..20)
    });
}

/// As many readers as the lock file has slots for at first, but for a few.
fn nearly_all_slots(run: &mut Run<'_>) {
    filled(run);
    run.park_many(505);
}

/// Another client has so many readers that the lock file has grown.
fn readers_elsewhere(run: &mut Run<'_>) {
    filled(run);
    run.open_other();
    run.park_elsewhere(520);
}

/// Open, and a guest reads a snapshot.
fn guest_beside(run: &mut Run<'_>) {
    filled(run);
    run.open_guest();
    run.park_guest();
}

/// A guest reads on where all that may write have left.
fn guest_alone(run: &mut Run<'_>) {
    guest_beside(run);
    run.close();
}

fn open_and_use(run: &mut Run<'_>) {
    run.open();
    run.look("opened");
    run.commit(Durable, |edit| edit.put(2, 5, 40));
    run.commit(Lazy, |edit| edit.delete(2, 6));
    run.close();
}

fn small_durable(run: &mut Run<'_>) {
    run.commit(Durable, |edit| edit.put(2, 5, 40));
    run.look("after one commit");
    run.commit(Durable, |edit| (0..8).try_for_each(|n| edit.delete(2, n)));
}

/// Commits that look for guests, and a guest that moves on.
fn beside_a_guest(run: &mut Run<'_>) {
    run.commit(Durable, |edit| edit.put(2, 5, 40));
    run.park_guest();
    run.commit(Lazy, |edit| (0..8).try_for_each(|n| edit.delete(2, n)));
    run.look("beside a guest");
    run.close_guest();
    run.open_guest();
    run.park_guest();
    run.commit(Durable, |edit| edit.put(2, 6, 40));
}

/// Reads as a guest, beside another client if there is one.
fn read_as_guest(run: &mut Run<'_>) {
    run.open_guest();
    run.park_guest();
    run.commit_elsewhere();
    run.park_guest();
    run.look("as a guest");
    run.close_guest();
}

/// More than goes out in one flush.
fn large_durable(run: &mut Run<'_>) {
    run.commit(Durable, |edit| edit.put(4, 50, 1_300_000));
    run.look("after one commit");
    run.commit(Durable, |edit| edit.delete(4, 50));
}

fn lazy(run: &mut Run<'_>) {
    for n in 0..3 {
        run.commit(Lazy, |edit| edit.put(2, n, 50 + n as usize));
    }
    run.sync();
    run.commit(Lazy, |edit| edit.put(12, 2, 3000));
    run.commit(Durable, |edit| edit.put(2, 9, 9));
}

/// Small ones, and large ones whose meta is left to the next.
fn no_meta_sync(run: &mut Run<'_>) {
    run.commit(NoMetaSync, |edit| edit.put(2, 5, 40));
    run.commit(NoMetaSync, |edit| edit.put(4, 50, 1_200_000));
    run.commit(NoMetaSync, |edit| edit.put(2, 5, 41));
    run.look("with a flush to finish");
    run.commit(Lazy, |edit| edit.delete(4, 50));
    run.sync();
    run.commit(NoMetaSync, |edit| edit.put(4, 50, 1_200_000));
}

fn filled_unsynced(run: &mut Run<'_>) {
    run.never_flush();
    filled(run);
}

fn unsynced(run: &mut Run<'_>) {
    for n in 0..3 {
        run.commit(Unsynced, |edit| edit.put(2, n, 50 + n as usize));
    }
    run.close();
    run.open();
    run.commit(Unsynced, |edit| edit.put(2, 9, 9));
    run.close_without_flush();
    run.open();
    run.look("opened after a dirty close");
    run.commit(Unsynced, |edit| edit.put(2, 9, 10));
    run.close();
}

fn filled_with_checkpoints(run: &mut Run<'_>) {
    run.options().flush_after_bytes(40_000).flush_after(Duration::from_secs(3600));
    filled(run);
}

fn checkpoints(run: &mut Run<'_>) {
    for n in 0..5 {
        run.commit(Lazy, |edit| edit.put(12, n, 15_000));
    }
    run.flush_if_due();
    run.look("with checkpoints");
}

fn wants_a_journal(run: &mut Run<'_>) {
    run.options().journal(64 << 10);
}

fn filled_with_a_journal(run: &mut Run<'_>) {
    wants_a_journal(run);
    filled(run);
}

/// Durable commits with a checkpoint among them, and what has no record.
fn journaled(run: &mut Run<'_>) {
    run.commit(Durable, |edit| edit.put(12, 2, 5000));
    for n in 0..9 {
        run.commit(Durable, |edit| edit.put(2, n, 40));
    }
    run.commit(Lazy, |edit| edit.put(2, 3, 50));
    run.commit(Durable, |edit| edit.put(2, 4, 50));
    run.look("with a journal");
}

fn cut_with_a_journal(run: &mut Run<'_>) {
    filled_with_a_journal(run);
    for n in 0..3 {
        run.commit(Durable, |edit| edit.put(2, n, 41));
    }
    run.crash(Crash::PowerLoss);
}

fn tickets(run: &mut Run<'_>) {
    let first = run.commit_ticket(|edit| edit.put(2, 5, 40));
    let second = run.commit_ticket(|edit| edit.put(2, 6, 40));
    let third = run.commit_ticket(|edit| edit.put(2, 7, 40));
    run.look("before waiting");
    second.iter().chain(&first).for_each(|ticket| run.wait(ticket));
    run.commit(Durable, |edit| edit.put(2, 8, 40));
    third.iter().for_each(|ticket| run.wait(ticket));
}

/// More pages than are buffered.
fn spill(run: &mut Run<'_>) {
    let puts = |edit: &mut Edit<'_>| (0..70).try_for_each(|n| edit.put(12, n * 3, 180));
    run.commit(Lazy, puts);
    run.look("spilled");
    run.commit(Durable, |edit| (0..70).try_for_each(|n| edit.delete(12, n * 3)));
}

/// Levels that are kept, undone, and fail; in the first one, before anything else wanted a page.
fn nested(run: &mut Run<'_>) {
    run.commit(Lazy, |edit| {
        edit.nested(true, |edit| edit.put(12, 3, 50))?;
        edit.put(2, 1, 30)
    });
    run.commit(Lazy, |edit| {
        (0..10).try_for_each(|n| edit.put(2, n * 2, 35))?;
        edit.nested(true, |edit| {
            (0..40).try_for_each(|n| edit.put(12, n, 90))?;
            edit.nested(false, |edit| {
                edit.put(4, 9, 2000)?;
                (0..40).try_for_each(|n| edit.delete(12, n))
            })?;
            edit.put(8, 1, 70)
        })?;
        edit.nested(false, |edit| {
            (0..30).try_for_each(|n| edit.put(10, n, 60))?;
            edit.clear(2)
        })?;
        edit.put(2, 1, 31)
    });
    run.commit(Durable, |edit| edit.put(2, 2, 32));
}

fn abort(run: &mut Run<'_>) {
    run.abort(|edit| {
        (0..60).try_for_each(|n| edit.put(12, n, 150))?;
        edit.put(4, 8, 3000)?;
        edit.clear(2)
    });
    run.commit(Durable, |edit| edit.put(2, 1, 33));
}

fn growth(run: &mut Run<'_>) {
    for round in 0..3 {
        run.commit(Durable, |edit| (0..25).try_for_each(|n| edit.put(6, n + 25 * round, 300)));
    }
}

fn shrink(run: &mut Run<'_>) {
    for n in 0..4 {
        run.commit(Durable, |edit| edit.put(2, n, 5));
    }
}

/// What lives moves to the front.
fn compact(run: &mut Run<'_>) {
    run.compact();
    run.look("compacted");
    run.commit(Lazy, |edit| edit.put(2, 1, 5));
    run.compact();
}

/// Frees so much in pieces, under the eyes of readers, that the list needs pages of its own.
fn chunks(run: &mut Run<'_>) {
    run.commit(Durable, |edit| (0..350).step_by(2).try_for_each(|n| edit.delete(8, n)));
    run.look("with chunks");
    run.unpark();
    run.commit(Lazy, |edit| (0..20).try_for_each(|n| edit.put_pages(8, n * 2, 1)));
    run.commit(Durable, |edit| edit.clear(8));
    run.commit(Durable, |edit| (0..20).try_for_each(|n| edit.put_pages(8, n * 2, 1)));
}

fn tables(run: &mut Run<'_>) {
    run.commit(Durable, |edit| (1..6).try_for_each(|n| edit.put(n * 2, 1, 20)));
    run.commit(Lazy, |edit| {
        edit.many_tables(90)?;
        (0..9).try_for_each(|n| edit.replace(2, n, 6000))?;
        edit.scan(2)?;
        edit.drop_table(4)?;
        edit.clear(2)?;
        edit.put(2, 1, 20)
    });
    run.commit(Durable, |edit| edit.drop_table(12));
}

/// Integers that the largest cell does not hold, and that need more pages than are buffered where
/// pages are small.
const MANY: u64 = 264;

/// Values go to a tree of their own and come back, with levels that are undone, and go with their
/// keys and their multimap.
fn multimaps(run: &mut Run<'_>) {
    run.commit(Durable, |edit| {
        edit.pour(26, 12, 3..MANY)?;
        edit.pour(14, 28, 0..3)?;
        edit.nested(false, |edit| {
            edit.take(14, 12, 0..20)?;
            edit.pour(26, 28, 0..60)
        })?;
        edit.walk(14)?;
        edit.walk(26)
    });
    run.look("values in trees");
    run.commit(Lazy, |edit| {
        edit.take(26, 12, 2..MANY)?;
        edit.nested(true, |edit| edit.set(14, 12, 40))?;
        edit.pour(14, 28, 4..9)?;
        edit.walk(26)
    });
    run.commit(Durable, |edit| {
        edit.pour(14, 10, 0..9)?;
        edit.take_above(14, 12)?;
        edit.drop_table(26)
    });
}

/// More readers than the lock file has slots for at first.
fn many_readers(run: &mut Run<'_>) {
    run.park_many(12);
    if let Some(env) = run.env() {
        let snapshots = run.tried("retained snapshots", || env.retained_snapshots());
        assert!(snapshots.is_none_or(|snapshots| snapshots.len() > 512));
    }
    run.commit(Durable, |edit| edit.put(2, 1, 34));
    run.unpark();
    run.commit(Durable, |edit| edit.put(2, 1, 35));
}

fn close_twice(run: &mut Run<'_>) {
    run.close();
    run.open();
    run.commit(Lazy, |edit| edit.put(2, 1, 36));
    run.close();
}

/// Copies the snapshot, page by page and packed; a packed copy is built in a file.
fn copy(run: &mut Run<'_>) {
    let Some(env) = run.env() else { return };
    let mut bytes = Vec::with_capacity(64 << 20);
    let copied = run.tried("copy", || env.copy_to_writer(&mut bytes, CopyOptions::new()).map(drop));
    if copied.is_some() {
        let disk = SimDisk::from_image(&bytes, 8 << 20).expect("a machine of its own").quiet();
        let copy = Env::options().open_simulated(&disk).expect("a copy opens");
        run.same_as(&copy, "the copy");
    }
    let Some(directory) = run.ground().directory() else { return };
    for (compact, name) in [(false, "copy.huon"), (true, "compact.huon")] {
        let path = directory.join(name);
        let options = CopyOptions::new().compact(compact);
        let copied = run.tried("copy to a file", || env.copy_to(&path, options));
        // Where its name was made and only then something failed, it is whole too.
        if copied.is_some() || path.exists() {
            let copy = Env::options().open(&path).expect("what has the name of a copy opens");
            run.same_as(&copy, "the copied file");
        }
    }
}

/// Loads one record, in one commit.
fn load(run: &mut Run<'_>) {
    for _ in 0..2 {
        const BYTES: usize = 20_000;
        let Some(number) = run.begin_state(BYTES) else { return };
        let scratch = SimDisk::new(1 << 20).expect("a machine of its own").quiet();
        let env = Env::options().open_simulated(&scratch).expect("an environment for the text");
        env.update(|txn| Run::write_state(txn, number, BYTES)).expect("one record");
        // A header may have lines that mean nothing.
        let mut text = [b"VERSION=3\n", &[b'x'; 5000][..], b"=5\n"].concat();
        dump(&env, &mut text, DumpOptions::new()).expect("the text");
        let Some(env) = run.env() else { return };
        let loaded = run.call(|| {
            let loaded = huon_text::load(&env, &mut text.as_slice(), LoadOptions::new());
            loaded.map(drop).map_err(of_the_store)
        });
        run.end_state(number, loaded);
    }
}

/// Everything that only looks.
fn look(run: &mut Run<'_>) {
    let Some(env) = run.env() else { return };
    if let Some(report) = run.tried("check", || env.check()) {
        assert!(report.is_clean(), "{:?}", report.problems);
    }
    run.tried("stat", || env.stat());
    run.tried("info", || env.info());
    let mut text = Vec::with_capacity(64 << 20);
    let mut text_of = |rescue| {
        let options = DumpOptions::new().rescue(rescue);
        dump(&env, &mut text, options).map_err(of_the_store)
    };
    run.tried("dump", || text_of(false));
    let rescued = run.tried("rescue", || text_of(true));
    assert!(rescued.is_none_or(|report| report.skipped_count == 0), "nothing is damaged");
    run.look("looked");
}
