//! Crash images of small scripts.

use std::time::Instant;

use huon_testkit::crash::{Setup, Stage, Verdict};
use huon_testkit::figures;
use huon_testkit::random::Random;

type Script = fn(&mut Stage);

fn durable_puts(stage: &mut Stage) {
    for n in 0..6 {
        stage.commit(0, false, |edit| edit.put(2, n, 30));
    }
}

fn one_key_again_and_again(stage: &mut Stage) {
    for round in 0..10 {
        stage.commit(0, false, |edit| edit.put(2, 5, 20 + round));
    }
}

fn lazy_then_durable(stage: &mut Stage) {
    for round in 0..3 {
        for n in 0..4 {
            stage.commit(0, true, |edit| edit.put(2, n * 3 + round, 25));
        }
        stage.commit(0, false, |edit| edit.put(12, round, 9));
    }
}

fn mixed_with_sync(stage: &mut Stage) {
    for round in 0..8 {
        stage.commit(0, round % 3 != 0, |edit| {
            edit.put(2, round, 40);
            edit.put(6, round, 10);
            edit.delete(2, round / 2);
        });
        if round % 4 == 3 {
            stage.sync();
        }
    }
}

fn spilling(stage: &mut Stage) {
    for round in 0..3 {
        stage.commit(0, round == 1, |edit| {
            (0..60).for_each(|n| edit.put(2, n * (round + 1), 33));
        });
    }
}

fn large_values(stage: &mut Stage) {
    for round in 0..6 {
        stage.commit(0, round % 2 == 1, |edit| {
            edit.put(2, round % 3, 700 + 300 * round as usize);
            edit.put(4, round, 5);
        });
    }
}

fn tables_come_and_go(stage: &mut Stage) {
    for round in 0..6u8 {
        stage.commit(0, round % 2 == 0, |edit| {
            (0..12).for_each(|n| edit.put(2 + 2 * (round % 3), n, 40));
            edit.drop_table(2 + 2 * ((round + 2) % 3));
        });
    }
    stage.commit(0, false, |edit| edit.clear(2));
}

fn growing(stage: &mut Stage) {
    for round in 0..6 {
        stage.commit(0, round % 3 == 1, |edit| {
            (0..15).for_each(|n| edit.put(2, round * 15 + n, 50));
        });
    }
}

fn shrinking(stage: &mut Stage) {
    for round in 0..3u64 {
        stage.commit(0, false, |edit| (0..60).for_each(|n| edit.put(2, n, 60)));
        stage.commit(0, round == 1, |edit| edit.clear(2));
        stage.commit(0, true, |edit| edit.put(4, round, 5));
        stage.commit(0, true, |edit| edit.put(4, round + 1, 5));
        stage.commit(0, false, |edit| edit.put(4, round + 2, 5));
    }
}

fn parked_readers(stage: &mut Stage) {
    let mut parked = Vec::new();
    for round in 0..9 {
        stage.commit(0, round % 2 == 0, |edit| {
            (0..6).for_each(|n| edit.put(2, n * 7 + round, 35));
        });
        match round % 3 {
            0 => parked.push(stage.envs[0].read().expect("a reader")),
            1 => parked.truncate(1),
            _ => {}
        }
    }
}

fn nested_and_spilled(stage: &mut Stage) {
    for round in 0..4 {
        stage.commit(0, round == 2, |edit| {
            (0..20).for_each(|n| edit.put(2, n + round, 30));
            edit.nested(round % 2 == 0, |edit| {
                (0..30).for_each(|n| edit.put(2, n * 2, 37));
                edit.nested(round % 2 == 1, |edit| edit.put(8, round, 600));
                edit.put(4, round, 300);
            });
            edit.put(10, round, 8);
        });
    }
}

/// Frees so much in pieces that the free list needs chunks.
fn many_free_pieces(stage: &mut Stage) {
    stage.commit(0, false, |edit| (0..600).for_each(|n| edit.put(12, n, 25)));
    let parked = stage.envs[0].read().expect("a reader");
    for round in 0..4 {
        stage.commit(0, round % 2 == 1, |edit| {
            (0..200).for_each(|n| edit.put(12, n * 3 + round, 26));
        });
    }
    let io = stage.envs[0].info().expect("the state of the environment").io;
    assert!(io.chunks_written > 0, "a free list in chunks");
    drop(parked);
    for round in 0..3 {
        stage.commit(0, round == 1, |edit| (0..30).for_each(|n| edit.put(12, n * 20 + round, 27)));
    }
}

fn reopened(stage: &mut Stage) {
    for round in 0..5 {
        stage.commit(0, true, |edit| edit.put(2, round, 30));
        stage.commit(0, round % 2 == 0, |edit| edit.put(4, round, 30));
        stage.reopen();
    }
}

fn two_clients(stage: &mut Stage) {
    stage.join();
    for round in 0..10 {
        stage.commit(round % 2, round % 3 != 0, |edit| edit.put(2, round as u64, 45));
    }
}

/// Two-flush commits.
fn much_at_once(stage: &mut Stage) {
    for round in 0..2 {
        stage.commit(0, false, |edit| {
            edit.put(2, 1 + round, (1 << 20) + 5000);
            edit.put(4, round, 9);
        });
        stage.commit(0, false, |edit| edit.put(2, 9, 30));
    }
}

fn judge(name: &str, script: Script, setup: Setup, total: &mut Verdict) {
    let start = Instant::now();
    let mut stage = Stage::new(setup);
    script(&mut stage);
    let name = format!("{name} at {}", setup.page_bytes);
    let verdict = stage.judge(&name, &mut Random::new(7));
    println!("{name:35} {verdict:?} {:?}", start.elapsed());
    total.merge(&verdict);
}

const SCRIPTS: [(&str, Script); 14] = [
    ("durable puts", durable_puts),
    ("one key again and again", one_key_again_and_again),
    ("lazy, then durable", lazy_then_durable),
    ("mixed with sync", mixed_with_sync),
    ("spilling", spilling),
    ("large values", large_values),
    ("tables come and go", tables_come_and_go),
    ("growing", growing),
    ("shrinking", shrinking),
    ("parked readers", parked_readers),
    ("nested and spilled", nested_and_spilled),
    ("many free pieces", many_free_pieces),
    ("reopened", reopened),
    ("two clients", two_clients),
];

fn scripts(page_bytes: usize) {
    let mut total = Verdict::default();
    let only = std::env::var("HUON_SCRIPT").unwrap_or_default();
    for (name, script) in SCRIPTS.iter().filter(|(name, _)| name.contains(&only)) {
        let mut setup = Setup::small(page_bytes);
        match *name {
            "spilling" | "nested and spilled" => setup.spill_pages = 8,
            "shrinking" => setup.shrink_pages = 4,
            "growing" => setup.grow_pages = 1,
            _ => {}
        }
        // Files of megabytes, and nothing that the smaller ones do not have.
        if *name == "many free pieces" && page_bytes > 512 {
            continue;
        }
        judge(name, *script, setup, &mut total);
    }
    println!("{total:?}");
    if only.is_empty() {
        assert!(total.twice > 0 && total.kills > 0 && total.used > 0 && total.stepped_back > 0);
    }
    figures::add("crash", total.images);
}

#[test]
fn scripts_at_256() {
    scripts(256);
}

#[test]
fn scripts_at_512() {
    scripts(512);
}

#[test]
fn scripts_at_4096() {
    scripts(4096);
}

#[test]
fn two_flush_commits() {
    let mut setup = Setup::small(4096);
    setup.reserve_bytes = 16 << 20;
    let mut total = Verdict::default();
    judge("much at once", much_at_once, setup, &mut total);
    figures::add("crash", total.images);
}
