//! Manifests and runs of an LSM table, changed through Huon's own interface.

use std::sync::OnceLock;

use huon::sim::SimDisk;
use huon::{Result, WriteTxn};

use super::Choices;
use crate::hostile::lsm::{Fixture, Leaves, key, manifest_def, run_def};

/// Records of the manifest, by the first byte of the key.
const RUN: u8 = 0;
const CLAIM: u8 = 2;
const DELETE: u8 = 3;
/// Where runs and claims say up to which number deletes of ranges are made in them. A smaller
/// number is nothing that a check could know of.
const DELETES_MADE: [(u8, usize); 2] = [(RUN, 37), (CLAIM, 17)];

fn fixtures() -> &'static [Fixture] {
    static FIXTURES: OnceLock<Vec<Fixture>> = OnceLock::new();
    FIXTURES.get_or_init(Fixture::all)
}

thread_local! {
    static MACHINE: SimDisk = fixtures()[0].machine();
}

/// Changes some records of a manifest and of runs, and tries everything with the table.
pub fn lsm(data: &[u8]) {
    let mut choices = Choices::new(data);
    let fixtures = fixtures();
    let fixture = &fixtures[choices.below(fixtures.len())];
    let (first, mut leaves) = change(&mut choices, fixture);
    let mut changes = vec![first];
    // Several may be such that one hides the other.
    for _ in 0..choices.below(6).saturating_sub(3) {
        changes.push(change(&mut choices, fixture).0);
        leaves = Leaves::Anything;
    }
    MACHINE.with(|machine| {
        fixture.judge(&mut machine.clone(), leaves, |txn| {
            changes.into_iter().try_for_each(|change| change.make(txn))
        })
    });
}

enum Change {
    /// A record of the manifest is stored, or removed.
    Manifest { key: Vec<u8>, value: Option<Vec<u8>> },
    /// A record of a run is stored, or removed: the one at this place, or a new one.
    Run { slot: u32, place: usize, edit: Edit },
    /// The table of a run is dropped.
    Drop { slot: u32 },
}

enum Edit {
    Remove,
    Insert {
        value: Vec<u8>,
    },
    /// Bytes are taken off the end of the value, and others put there.
    End {
        cut: usize,
        end: Vec<u8>,
    },
}

/// A change, and what it leaves of the table.
fn change(choices: &mut Choices<'_>, fixture: &Fixture) -> (Change, Leaves) {
    let record = |choices: &mut Choices<'_>| {
        let (key, value) = &fixture.manifest[choices.below(fixture.manifest.len())];
        (key.clone(), value.clone())
    };
    let slot = |choices: &mut Choices<'_>| choices.pick(&fixture.slots);
    match choices.below(12) {
        0..=4 => {
            let (key, mut value) = record(choices);
            let mut left = left_by(key[0]);
            for _ in 0..1 + choices.below(2) {
                let at = choices.below(value.len());
                let width = choices.pick(&[1, 2, 4, 8]).min(value.len() - at);
                let is_made = |(kind, from)| key[0] == kind && at < from + 8 && from < at + width;
                if DELETES_MADE.into_iter().any(is_made) {
                    left = Leaves::Anything;
                }
                let mut old = [0; 8];
                old[..width].copy_from_slice(&value[at..at + width]);
                let new = choices.trouble(u64::from_le_bytes(old)).to_le_bytes();
                value[at..at + width].copy_from_slice(&new[..width]);
            }
            (Change::Manifest { key, value: Some(value) }, left)
        }
        5 => {
            let (key, mut value) = record(choices);
            match choices.below(2) {
                0 => value.truncate(choices.below(value.len())),
                _ => value.extend(choices.take(9)),
            }
            let left = left_by(key[0]);
            (Change::Manifest { key, value: Some(value) }, left)
        }
        6 => {
            let (key, _) = record(choices);
            let left = left_by(key[0]);
            (Change::Manifest { key, value: None }, left)
        }
        // A record in the place of another, or at a new one.
        7 => {
            let (mut key, value) = (record(choices).0, record(choices).1);
            if choices.once_in(2) {
                let at = choices.below(key.len());
                key[at] = choices.byte();
            }
            (Change::Manifest { key, value: Some(value) }, Leaves::Anything)
        }
        8 | 9 => {
            // No value of the fixture has a byte before its tag that is a tag. But where values are
            // merged, another tag says other things of a record that are as sound; and of what a
            // merge has left of its inputs neither tombstones nor bytes are counted.
            let (cut, end) = (choices.below(2), choices.take(2).to_vec());
            let (place, slot) = (choices.below(32), slot(choices));
            let is_unknown = fixture.is_merged || fixture.inputs.contains(&slot);
            let left = if is_unknown { Leaves::Anything } else { Leaves::All };
            (Change::Run { slot, place, edit: Edit::End { cut, end } }, left)
        }
        10 => {
            let place = choices.below(100);
            let (edit, left) = match choices.below(2) {
                0 => (Edit::Remove, Leaves::All),
                // It may be another value of the same length.
                _ => (Edit::Insert { value: choices.take(4).to_vec() }, Leaves::Anything),
            };
            (Change::Run { slot: slot(choices), place, edit }, left)
        }
        _ => (Change::Drop { slot: slot(choices) }, Leaves::All),
    }
}

/// What a change of a record of this kind leaves, if a check finds nothing.
fn left_by(kind: u8) -> Leaves {
    if kind == DELETE { Leaves::Anything } else { Leaves::All }
}

impl Change {
    fn make(self, txn: &mut WriteTxn) -> Result<()> {
        match self {
            Change::Manifest { key, value } => {
                let table = txn.create_table(&manifest_def())?;
                match value {
                    Some(value) => table.put(txn, &key, &value).map(drop),
                    None => table.remove(txn, &key).map(drop),
                }
            }
            Change::Run { slot, place, edit } => {
                let table = txn.create_table(&run_def(slot))?;
                let found = table.iter(txn)?.nth(place).transpose()?;
                let found = found.map(|(key, value)| (key.to_vec(), value.to_vec()));
                match (edit, found) {
                    (Edit::Insert { value }, _) => {
                        table.put(txn, &key(place as u64), &value).map(drop)
                    }
                    (_, None) => Ok(()),
                    (Edit::Remove, Some((key, _))) => table.remove(txn, &key).map(drop),
                    (Edit::End { cut, end }, Some((key, mut value))) => {
                        value.truncate(value.len().saturating_sub(cut));
                        value.extend(end);
                        table.put(txn, &key, &value).map(drop)
                    }
                }
            }
            Change::Drop { slot } => txn.create_table(&run_def(slot))?.drop_table(txn).map(drop),
        }
    }
}
