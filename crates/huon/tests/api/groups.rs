//! Records of many groups side by side, each of which only rises: points of many time series, say.
//! Each leaf is filled by one of them, whatever else comes in between.

use huon::{Bytes, Env, MultiDef, TableDef};

const RECORDS: TableDef<Bytes, Bytes> = TableDef::new("records");
const VALUES: MultiDef<Bytes, Bytes> = MultiDef::new("values");

fn leaf_pages(env: &Env) -> u32 {
    env.stat().unwrap().tables.iter().map(|table| table.leaf_pages).max().unwrap()
}

/// The bytes of point number `n` of a group.
fn point(group: u32, n: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&group.to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

/// In transactions of one point of each group, or of many: the pages know where they grow.
#[test]
fn leaves_of_groups_that_rise_are_full() {
    const GROUPS: u32 = 50;
    const POINTS: u32 = 600;
    const RECORDS_OF_LEAF: u32 = (4096 - 32) / (8 + 4 + 12 + 8);
    for rounds in [1, 40] {
        let env = Env::in_memory().unwrap();
        for first in (0..POINTS).step_by(rounds) {
            env.update(|txn| {
                let t = txn.create_table(&RECORDS)?;
                for n in first..first + rounds as u32 {
                    // In another order each time.
                    for group in (0..GROUPS).map(|g| (g * 7 + n) % GROUPS) {
                        t.put(txn, &point(group, n), &[0; 8])?;
                    }
                }
                Ok(())
            })
            .unwrap();
        }
        // Each group has a leaf that it fills, and at most one that it left where it began.
        let full = GROUPS * POINTS / RECORDS_OF_LEAF;
        let leaves = leaf_pages(&env);
        assert!(leaves <= full + 2 * GROUPS, "{leaves} leaves, {full} would be full");
        assert!(env.check().unwrap().is_clean());
    }
}

#[test]
fn leaves_of_values_that_rise_in_groups_are_full() {
    const GROUPS: u32 = 20;
    const POINTS: u32 = 2000;
    let def = VALUES.values_of_bytes(12);
    let env = Env::in_memory().unwrap();
    env.update(|txn| {
        let t = txn.create_table(&def)?;
        for n in 0..POINTS {
            for group in 0..GROUPS {
                t.put(txn, b"key", &point(group, n))?;
            }
        }
        Ok(())
    })
    .unwrap();
    let full = GROUPS * POINTS / ((4096 - 32) / 12);
    let leaves = leaf_pages(&env);
    assert!(leaves <= full + 2 * GROUPS, "{leaves} leaves, {full} would be full");
    assert!(env.check().unwrap().is_clean());
}

/// Where there are no groups leaves are as full as ever.
#[test]
fn leaves_of_random_records_are_divided_in_halves() {
    let env = Env::in_memory().unwrap();
    let count = 30_000_u32;
    env.update(|txn| {
        let t = txn.create_table(&RECORDS)?;
        (0..count).try_for_each(|n| {
            t.put(txn, &point(n.wrapping_mul(2_654_435_761), n), &[0; 8]).map(drop)
        })
    })
    .unwrap();
    let full = count * 32 / (4096 - 32);
    let leaves = leaf_pages(&env);
    assert!(leaves * 10 < full * 16, "{leaves} leaves, {full} would be full");
}
