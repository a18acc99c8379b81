//! The scripts: each a few transactions that bring about one kind of trouble.
//!
//! What other stores got wrong is the catalogue that they go by: torn metas, growth that was not
//! flushed, durable commits behind lazy ones, pages of a time that was given up, crashes during a
//! repair, writers that die between two steps of a commit.

mod clients;
mod tables;

use huon::sim::Point;
use huon::{Durability, Error};
use huon_testkit::crash::{Play, Script, Setup, Stage, random};
use huon_testkit::history::program::{Value, key};

use clients::*;
use tables::*;

use crate::{compact, ids, journal, limits, metas, multi};

use Durability::{Durable, Lazy, NoMetaSync, Unsynced};

/// All page sizes of the tests: two pages to a sector, one, and eight sectors to a page.
const ALL: &[usize] = &[256, 512, 4096];
/// Those with which many pages are few bytes.
const SMALL: &[usize] = &[256, 512];
const LARGE: &[usize] = &[4096];

fn plain(_: &mut Setup) {}

const fn script(name: &'static str, play: fn(&mut Stage) -> Play) -> Script {
    Script { name, play, setup: plain, pages: ALL }
}

const fn with(
    name: &'static str,
    setup: fn(&mut Setup),
    pages: &'static [usize],
    play: fn(&mut Stage) -> Play,
) -> Script {
    Script { name, play, setup, pages }
}

pub(crate) fn spills(setup: &mut Setup) {
    setup.spill_pages = 8;
}

fn grows_by_pages(setup: &mut Setup) {
    setup.grow_pages = 1;
}

pub(crate) fn shrinks(setup: &mut Setup) {
    setup.shrink_pages = 4;
    setup.grow_pages = 2;
}

/// Every script.
pub(crate) const SCRIPTS: &[Script] = &[
    // Durable commits.
    script("durable puts", durable_puts),
    script("one key again and again", one_key_again_and_again),
    script("main table only", main_table_only),
    script("durable deletes", durable_deletes),
    script("splits and merges", splits_and_merges),
    with("two flushes", |setup| setup.reserve_bytes = 16 << 20, LARGE, two_flushes),
    with("two flushes, then one", |setup| setup.reserve_bytes = 16 << 20, LARGE, two_then_one),
    // Lazy ones, and both.
    script("lazy, then durable", lazy_then_durable),
    script("lazy, then sync", lazy_then_sync),
    script("lazy, then closed", lazy_then_closed),
    script("mixed with sync", mixed_with_sync),
    script("durable behind lazy", durable_behind_lazy),
    script("reuse since the checkpoint", reuse_since_the_checkpoint),
    // Other modes of durability.
    script("no meta sync", no_meta_sync),
    with(
        "no meta sync, much at once",
        |setup| setup.reserve_bytes = 16 << 20,
        LARGE,
        no_meta_sync_much,
    ),
    with("never synced", |setup| setup.unsynced = true, ALL, never_synced),
    script("unsynced, lazy and durable", unsynced_lazy_and_durable),
    script("closed dirty", closed_dirty),
    with("checkpoints by bytes", |setup| setup.flush_bytes = Some(3000), ALL, checkpoints_by_bytes),
    script("tickets", tickets),
    // Spilling and giving up.
    with("spilling", spills, ALL, spilling),
    with("spilling lazily", spills, SMALL, spilling_lazily),
    with("nested and spilled", spills, ALL, nested_and_spilled),
    with("nested abort after a spill", spills, ALL, nested_abort_after_a_spill),
    with("abort after a spill, then again", spills, ALL, abort_after_a_spill),
    script("abort after a large value", abort_after_a_large_value),
    with("several ids", spills, SMALL, ids::several_ids),
    with("several ids, killed", spills, SMALL, ids::several_ids_killed),
    // Large values.
    script("large values", large_values),
    script("values at page borders", values_at_page_borders),
    script("large values come and go", large_values_come_and_go),
    // The length of the file.
    with("growing", grows_by_pages, ALL, growing),
    with("growing lazily", grows_by_pages, SMALL, growing_lazily),
    with("shrinking", shrinks, ALL, shrinking),
    with("shrunk and grown again", shrinks, ALL, shrunk_and_grown_again),
    with("at the upper size", |setup| setup.reserve_bytes = 128 << 10, SMALL, at_the_upper_size),
    with("other limits", shrinks, ALL, limits::other),
    with("other limits, spilled", limits::spills, SMALL, limits::other_spilled),
    with("limits in nested levels", limits::spills, SMALL, limits::nested),
    // Free space.
    with("many free pieces", plain, SMALL, many_free_pieces),
    with("free pieces used up", plain, &[256], free_pieces_used_up),
    script("compacted", compact::compacted),
    // Tables.
    script("tables come and go", tables_come_and_go),
    script("many tables", many_tables),
    script("renamed and dropped", renamed_and_dropped),
    script("cleared and filled", cleared_and_filled),
    script("bulk build", bulk_build),
    with("bulk build, spilled", spills, SMALL, bulk_build_spilled),
    // Multimaps.
    script("values come and go", multi::values_come_and_go),
    script("values split and merge", multi::values_split_and_merge),
    script("multimaps dropped", multi::multimaps_dropped),
    with("nested among values", spills, SMALL, multi::nested_among_values),
    with("killed among values", spills, SMALL, multi::killed_among_values),
    with("values spilled and undone", spills, SMALL, multi::spilled_and_undone),
    // Readers and clients.
    script("parked readers", parked_readers),
    script("a reader of another client", a_reader_of_another_client),
    script("reopened", reopened),
    script("reopened after lazy commits", reopened_after_lazy_commits),
    script("two clients", two_clients),
    script("one flush for two", one_flush_for_two),
    // A writer beside a flusher.
    script("a commit while a meta is in flight", a_commit_in_flight),
    with("a spill while a meta is in flight", spills, ALL, a_spill_in_flight),
    with(
        "a commit between two flushes",
        |setup| setup.reserve_bytes = 16 << 20,
        LARGE,
        a_commit_between_two_flushes,
    ),
    // Crashes on the way.
    script("killed, repaired, killed", killed_repaired_killed),
    with("killed with pages written", spills, ALL, killed_with_pages_written),
    script("killed right after the seal", killed_right_after_the_seal),
    script("killed with a meta in flight", killed_with_a_meta_in_flight),
    script("killed with lazy commits", killed_with_lazy_commits),
    script("killed, opened, closed", killed_opened_closed),
    // A meta chosen by hand.
    script("switched to the meta before", metas::the_one_before),
    script("switched to the last flushed", metas::the_last_flushed),
    script("switched again and killed", metas::again_and_killed),
    // A journal.
    with("journal begun", journal::small, &[256], journal::begun),
    with("journal in laps", journal::small, &[512], journal::in_laps),
    with("journal, tickets", journal::small, &[512], journal::with_tickets),
    with("journal, spilled", journal::spills, &[512], journal::spilled),
    with("journal, growing", journal::grows, &[256], journal::grown),
    with("journal beside others", journal::small, &[512], journal::beside_others),
    with("journal beside large ones", journal::small, &[512], journal::beside_large_ones),
    with("journal, pages used again", journal::small, &[256], journal::with_pages_used_again),
    with("journal, shrunk", journal::shrinks, &[256], journal::shrunk),
    with("journal, closed", journal::small, &[512], journal::closed),
    with("journal, left unsynced", journal::never_synced, &[256], journal::left_unsynced),
    with("journal, killed", journal::small, &[512], journal::killed),
    with("journal, overtaken", journal::small, &[512], journal::overtaken),
    with("journal beside checkpoints", journal::small, &[256], journal::beside_checkpoints),
    with("random, journal", journal::small, SMALL, journal::random),
    with("random, journal, spilling", journal::spills, &[512], journal::random),
    // Anything.
    script("random", random),
    with("random, spilling", spills, ALL, random),
    with("random, short of space", shrinks, ALL, random),
    with("random, never synced", |setup| setup.unsynced = true, ALL, random),
];

/// Whether a script is another one with each seed.
pub(crate) fn is_random(script: &Script) -> bool {
    script.name.starts_with("random")
}

fn durable_puts(stage: &mut Stage) -> Play {
    (0..6).try_for_each(|n| stage.durable(|edit| edit.put(2, n, 30)))
}

fn one_key_again_and_again(stage: &mut Stage) -> Play {
    (0..10).try_for_each(|round| stage.durable(|edit| edit.put(2, 5, 20 + round)))
}

fn main_table_only(stage: &mut Stage) -> Play {
    for n in 0..8 {
        stage.commit(0, if n % 3 == 1 { Lazy } else { Durable }, |edit| edit.put(0, n, 30))?;
    }
    stage.durable(|edit| (0..8).for_each(|n| edit.delete(0, n)))
}

fn durable_deletes(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..24, 30))?;
    for part in 0..4 {
        stage.durable(|edit| (0..24).filter(|n| n % 4 == part).for_each(|n| edit.delete(2, n)))?;
    }
    stage.durable(|edit| edit.put(2, 3, 30))
}

fn splits_and_merges(stage: &mut Stage) -> Play {
    for round in 0..4 {
        stage.durable(|edit| edit.fill(12, (0..30).map(|n| n * 4 + round), 60))?;
        stage.durable(|edit| {
            (0..30).filter(|n| n % 5 != 0).for_each(|n| edit.delete(12, n * 4 + round));
        })?;
    }
    Ok(())
}

fn two_flushes(stage: &mut Stage) -> Play {
    for round in 0..2 {
        stage.durable(|edit| {
            edit.put(2, 1 + round, (1 << 20) + 5000);
            edit.put(4, round, 9);
        })?;
        stage.durable(|edit| edit.put(2, 9, 30))?;
    }
    Ok(())
}

fn two_then_one(stage: &mut Stage) -> Play {
    stage.lazy(|edit| edit.put(2, 1, 600_000))?;
    stage.lazy(|edit| edit.put(2, 2, 600_000))?;
    stage.durable(|edit| edit.put(4, 0, 9))?;
    stage.lazy(|edit| edit.delete(2, 1))?;
    stage.durable(|edit| edit.put(2, 3, 20))?;
    stage.durable(|edit| edit.put(2, 4, 300_000))
}

fn lazy_then_durable(stage: &mut Stage) -> Play {
    for round in 0..3 {
        for n in 0..3 {
            stage.lazy(|edit| edit.put(2, n * 3 + round, 25))?;
        }
        stage.durable(|edit| edit.put(12, round, 9))?;
    }
    Ok(())
}

fn lazy_then_sync(stage: &mut Stage) -> Play {
    for round in 0..3 {
        for n in 0..3 {
            stage.lazy(|edit| edit.put(2, n + round, 25 + round as usize))?;
        }
        stage.sync()?;
        stage.sync()?;
    }
    Ok(())
}

fn lazy_then_closed(stage: &mut Stage) -> Play {
    for round in 0..3 {
        for n in 0..3 {
            stage.lazy(|edit| edit.put(2, n * round, 25))?;
        }
        stage.reopen()?;
    }
    Ok(())
}

fn mixed_with_sync(stage: &mut Stage) -> Play {
    for round in 0..8 {
        stage.commit(0, if round % 3 == 0 { Durable } else { Lazy }, |edit| {
            edit.put(2, round, 40);
            edit.put(6, round, 10);
            edit.delete(2, round / 2);
        })?;
        if round % 4 == 3 {
            stage.sync()?;
        }
    }
    Ok(())
}

fn durable_behind_lazy(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..12, 30))?;
    for round in 0..4 {
        stage.lazy(|edit| edit.put(2, round, 31))?;
        stage.durable(|edit| edit.put(2, 11 - round, 32))?;
    }
    Ok(())
}

fn reuse_since_the_checkpoint(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..12, 30))?;
    for round in 0..9 {
        stage.lazy(|edit| edit.put(2, 7, 20 + round))?;
    }
    stage.sync()?;
    stage.lazy(|edit| edit.put(2, 7, 40))
}

fn no_meta_sync(stage: &mut Stage) -> Play {
    for round in 0..6 {
        stage.commit(0, NoMetaSync, |edit| edit.put(2, round, 30))?;
        stage.commit(0, if round % 2 == 0 { Lazy } else { Durable }, |edit| edit.put(4, 1, 9))?;
    }
    Ok(())
}

/// Metas whose flush is left to the next commit.
fn no_meta_sync_much(stage: &mut Stage) -> Play {
    stage.commit(0, NoMetaSync, |edit| edit.put(2, 1, (1 << 20) + 100))?;
    stage.commit(0, NoMetaSync, |edit| edit.put(2, 2, 900))?;
    stage.commit(0, NoMetaSync, |edit| edit.put(2, 1, (1 << 20) + 200))?;
    stage.lazy(|edit| edit.put(4, 1, 9))?;
    stage.durable(|edit| edit.put(4, 2, 9))?;
    stage.commit(0, NoMetaSync, |edit| edit.put(2, 3, (1 << 20) + 300))?;
    stage.kill();
    stage.commit(0, NoMetaSync, |edit| edit.put(2, 1, (1 << 20) + 400))?;
    stage.reopen()
}

fn never_synced(stage: &mut Stage) -> Play {
    for round in 0..3 {
        for n in 0..3 {
            stage.commit(0, Unsynced, |edit| edit.put(2, n + round, 30))?;
        }
        if round == 1 {
            stage.sync()?;
        }
        stage.reopen()?;
    }
    stage.commit(0, Unsynced, |edit| edit.put(2, 0, 31))
}

fn unsynced_lazy_and_durable(stage: &mut Stage) -> Play {
    for round in 0..4 {
        stage.commit(0, Unsynced, |edit| edit.put(2, round, 30))?;
        stage.lazy(|edit| edit.put(2, round + 1, 31))?;
        stage.commit(0, if round == 1 { Durable } else { Unsynced }, |edit| edit.put(4, 1, 9))?;
    }
    Ok(())
}

fn closed_dirty(stage: &mut Stage) -> Play {
    for round in 0..3 {
        stage.durable(|edit| edit.put(2, round, 30))?;
        stage.lazy(|edit| edit.fill(2, round..round + 5, 31))?;
        stage.reopen_dirty()?;
        stage.lazy(|edit| edit.put(4, round, 9))?;
    }
    Ok(())
}

fn checkpoints_by_bytes(stage: &mut Stage) -> Play {
    for round in 0..10 {
        stage.lazy(|edit| edit.fill(2, round..round + 3, 30))?;
    }
    let io = stage.envs[0].info().expect("the state of the environment").io;
    assert!(io.flushes > 2, "only {} flushes", io.flushes);
    Ok(())
}

fn tickets(stage: &mut Stage) -> Play {
    for round in 0..3 {
        let first = stage.ticket(|edit| edit.put(2, round, 30))?;
        let second = stage.ticket(|edit| edit.put(2, round + 1, 31))?;
        if round == 1 {
            stage.wait(&second)?;
        }
        let third = stage.ticket(|edit| edit.put(4, round, 9))?;
        stage.wait(&first)?;
        stage.wait(&third)?;
    }
    Ok(())
}

fn spilling(stage: &mut Stage) -> Play {
    for round in 0..3 {
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.fill(2, (0..60).map(|n| n * (round + 1)), 33);
        })?;
    }
    Ok(())
}

fn spilling_lazily(stage: &mut Stage) -> Play {
    for round in 0..4 {
        stage.lazy(|edit| edit.fill(12, (0..40).map(|n| n * 3 + round), 33))?;
    }
    stage.durable(|edit| edit.put(2, 1, 9))
}

fn nested_and_spilled(stage: &mut Stage) -> Play {
    for round in 0..4 {
        stage.commit(0, if round == 2 { Lazy } else { Durable }, |edit| {
            edit.fill(2, round..20 + round, 30);
            edit.nested(round % 2 == 0, |edit| {
                edit.fill(2, (0..30).map(|n| n * 2), 37);
                edit.nested(round % 2 == 1, |edit| edit.put(8, round, 600));
                edit.put(4, round, 300);
            });
            edit.put(10, round, 8);
        })?;
    }
    Ok(())
}

fn nested_abort_after_a_spill(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..20, 30))?;
    for round in 0..3 {
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.put(2, round, 35);
            edit.nested(false, |edit| edit.fill(2, (0..50).map(|n| n + round), 36));
            edit.fill(2, (0..12).map(|n| n * 3), 37);
        })?;
    }
    Ok(())
}

fn abort_after_a_spill(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..20, 30))?;
    for round in 0..3 {
        stage.aborted(|edit| edit.fill(2, 0..50, 33 + round as usize))?;
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.fill(2, 0..40, 33);
            edit.put(2, 100 + round, 5);
        })?;
    }
    Ok(())
}

fn abort_after_a_large_value(stage: &mut Stage) -> Play {
    for round in 0..3 {
        stage.aborted(|edit| edit.put(2, 1, 5000))?;
        stage.lazy(|edit| edit.put(2, 2, 5000 + round))?;
        stage.durable(|edit| edit.put(2, 1, 5000 - round))?;
    }
    Ok(())
}

fn large_values(stage: &mut Stage) -> Play {
    for round in 0..6 {
        stage.commit(0, if round % 2 == 1 { Lazy } else { Durable }, |edit| {
            edit.put(2, round % 3, 700 + 300 * round as usize);
            edit.put(4, round, 5);
        })?;
    }
    Ok(())
}

fn values_at_page_borders(stage: &mut Stage) -> Play {
    let page_bytes = stage.setup().page_bytes;
    for (n, bytes) in [page_bytes - 1, page_bytes, page_bytes + 1].into_iter().enumerate() {
        stage.durable(|edit| {
            edit.put(2, n as u64, bytes);
            edit.put(2, 10, 2 * page_bytes + bytes);
        })?;
        stage.lazy(|edit| edit.put(2, 20, bytes + page_bytes * 3))?;
    }
    Ok(())
}

fn large_values_come_and_go(stage: &mut Stage) -> Play {
    let page_bytes = stage.setup().page_bytes;
    for round in 0..4 {
        stage.durable(|edit| {
            edit.put(2, round, 6 * page_bytes);
            edit.delete(2, round.wrapping_sub(1));
        })?;
        stage.commit(0, if round % 2 == 0 { Lazy } else { Durable }, |edit| {
            edit.put(2, round, 2 * page_bytes);
            edit.put(12, round, 5 * page_bytes);
        })?;
    }
    Ok(())
}

fn growing(stage: &mut Stage) -> Play {
    for round in 0..6 {
        stage.commit(0, if round % 3 == 1 { Lazy } else { Durable }, |edit| {
            edit.fill(2, round * 15..round * 15 + 15, 50);
        })?;
    }
    Ok(())
}

fn growing_lazily(stage: &mut Stage) -> Play {
    for round in 0..5 {
        stage.lazy(|edit| edit.fill(12, round * 10..round * 10 + 10, 50))?;
    }
    stage.sync()?;
    stage.lazy(|edit| edit.fill(12, 50..70, 50))
}

fn shrinking(stage: &mut Stage) -> Play {
    for round in 0..2 {
        stage.durable(|edit| edit.fill(2, 0..60, 60))?;
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| edit.clear(2))?;
        stage.lazy(|edit| edit.put(4, round, 5))?;
        stage.lazy(|edit| edit.put(4, round + 1, 5))?;
        stage.durable(|edit| edit.put(4, round + 2, 5))?;
        stage.durable(|edit| edit.put(4, round + 3, 5))?;
    }
    Ok(())
}

fn shrunk_and_grown_again(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..50, 60))?;
    stage.durable(|edit| edit.clear(2))?;
    stage.durable(|edit| edit.put(4, 1, 5))?;
    stage.durable(|edit| edit.put(4, 2, 5))?;
    stage.durable(|edit| edit.put(4, 3, 5))?;
    stage.lazy(|edit| edit.fill(12, 0..40, 61))?;
    stage.durable(|edit| edit.fill(12, 40..50, 62))
}

fn at_the_upper_size(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..10, 30))?;
    for round in 0..3 {
        stage.aborted(|edit| {
            let page_bytes = edit.page_bytes();
            let table =
                edit.txn.create_table(&huon_testkit::model::TableId(2).def()).expect("create");
            let value = Value { bytes: 3000, seed: round }.make();
            let full = (0..200).find_map(|n| {
                let key = key(huon_testkit::model::KeyOrder::Bytes, page_bytes, n);
                table.put(edit.txn, &key, &value).err()
            });
            assert!(matches!(full, Some(Error::MapFull(_))), "{full:?}");
        })?;
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.put(2, 20 + round, 2000);
            edit.delete(2, round);
        })?;
    }
    Ok(())
}

/// Frees so much in pieces that the free list needs chunks.
fn many_free_pieces(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(12, 0..600, 25))?;
    let parked = stage.reader(0);
    for round in 0..3 {
        stage.commit(0, if round % 2 == 1 { Lazy } else { Durable }, |edit| {
            edit.fill(12, (0..200).map(|n| n * 3 + round), 26);
        })?;
    }
    let io = stage.envs[0].info().expect("the state of the environment").io;
    assert!(io.free_list_pages_written > 0, "a free list in chunks");
    drop(parked);
    for round in 0..2 {
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.fill(12, (0..30).map(|n| n * 20 + round), 27);
        })?;
    }
    Ok(())
}

fn free_pieces_used_up(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(12, 0..600, 25))?;
    let parked = stage.reader(0);
    stage.lazy(|edit| edit.fill(12, (0..200).map(|n| n * 3), 26))?;
    stage.durable(|edit| edit.fill(12, (0..200).map(|n| n * 3 + 1), 26))?;
    stage.durable(|edit| edit.fill(12, (0..200).map(|n| n * 3 + 2), 26))?;
    drop(parked);
    stage.lazy(|edit| edit.fill(2, 0..200, 40))?;
    stage.durable(|edit| edit.fill(2, 100..300, 41))?;
    let io = stage.envs[0].info().expect("the state of the environment").io;
    assert!(io.free_list_pages_read > 0, "chunks are opened");
    Ok(())
}
