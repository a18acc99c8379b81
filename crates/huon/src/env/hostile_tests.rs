//! Files made to mislead: metas, trees, free space and lock files that say what is not so, with
//! checksums that are right.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::tests::{T, has, killed, options, put};
use crate::page::{HEADER_BYTES, META_BYTES, Ptr, Seal, Tree, header};
use crate::sim::SimDisk;
use crate::{Bytes, Durability, Error, Recovery, TableDef, U64};

const MAIN: TableDef<U64, Bytes> = TableDef::main();

pub(super) fn set(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

pub(super) fn set_half(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// A file of a few records in a table and in the main table, with free pages.
fn model() -> Vec<u8> {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    for round in 0..4 {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        for key in 0..40 {
            t.put(&mut txn, key, &[round; 30]).unwrap();
        }
        let main = txn.create_table(&MAIN).unwrap();
        for key in 0..40 {
            main.put(&mut txn, key, &vec![round; if key == 7 { 1000 } else { 30 }]).unwrap();
        }
        txn.commit().unwrap();
    }
    drop(env);
    let mut image = disk.image();
    // Two-flush metas stand without a look at what they lead to.
    forge_metas(&mut image, |_| ());
    image
}

fn seal(image: &[u8]) -> Seal {
    Seal::new(image[24..40].try_into().unwrap())
}

/// A meta whose checksum is right, but which is of another file or has other pages, is none of this
/// file's: nothing steps back to it.
#[test]
fn a_meta_of_another_file_is_none() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    for n in 0..3 {
        put(&env, n, Durability::Durable);
    }
    drop(env);
    let mut sound = disk.image();
    let id = |meta: &[u8]| u64::from_le_bytes(meta[48..56].try_into().unwrap());
    let mut slots = [0, 1, 2].map(|slot| slot * META_BYTES);
    slots.sort_by_key(|&at| id(&sound[at..]));
    // The newest commit is lost, and the one before it is whole.
    let newest = id(&sound[slots[2]..]);
    for page in sound[3 * META_BYTES..].chunks_exact_mut(256) {
        if header::ptr(page).birth.0 == newest {
            page.fill(0);
        }
    }
    let step =
        |image: &[u8]| options().open_simulated(&SimDisk::from_image(image, 8 << 20).unwrap());
    assert_eq!(step(&sound).unwrap().recovery(), Recovery::SteppedBack);
    let changes: [fn(&mut [u8]); 2] = [|meta| meta[24] ^= 1, |meta| set_half(meta, 40, 512)];
    for (number, change) in changes.iter().enumerate() {
        let mut image = sound.clone();
        for &slot in &slots[..2] {
            let meta = &mut image[slot..slot + META_BYTES];
            change(meta);
            let mut uuid = [0; 16];
            uuid.copy_from_slice(&meta[24..40]);
            let sum = Seal::new(&uuid).run(&meta[24..]);
            set(meta, 16, sum);
        }
        let opened = step(&image);
        assert!(matches!(opened, Err(Error::Corrupt(_))), "{number}: {opened:?}");
    }
}

/// Changes every meta of the file; their checksums are right again.
pub(super) fn forge_metas(image: &mut [u8], change: impl Fn(&mut [u8])) {
    let seal = seal(image);
    for meta in image[..3 * META_BYTES].chunks_mut(META_BYTES) {
        if meta.starts_with(b"HUON") {
            set_half(meta, 44, 2);
            change(meta);
            let sum = seal.run(&meta[24..]);
            set(meta, 16, sum);
        }
    }
}

/// Changes every page of that kind and level; the checksums are right again.
pub(super) fn forge_pages(image: &mut [u8], kind: u8, mut change: impl FnMut(&mut [u8])) {
    let seal = seal(image);
    for page in image[3 * META_BYTES..].chunks_exact_mut(256) {
        if header::kind(page).is_some_and(|found| found as u8 == kind) {
            change(page);
            seal.stamp(page);
        }
    }
}

/// Does what can be done with a file. Errors are fine.
fn use_it(disk: &SimDisk) -> Result<(), Error> {
    let env = options().open_simulated(disk)?;
    let txn = env.read()?;
    if let Ok(Some(t)) = txn.open_table(&T) {
        let _ = t.iter(&txn).map(|items| items.take(1000).count());
    }
    drop(txn);
    let _ = env.check();
    for act in 0..6 {
        for durability in [Durability::Lazy, Durability::Durable] {
            let mut txn = env.write()?;
            let _ = change(&mut txn, act);
            let _ = txn.commit_with(durability);
        }
    }
    env.sync()?;
    Ok(())
}

fn change(txn: &mut crate::WriteTxn, act: u64) -> Result<(), Error> {
    for table in [txn.create_table(&MAIN), txn.create_table(&T)].into_iter().flatten() {
        match act {
            0 => table.put(txn, 1, b"small").map(drop)?,
            1 => table.remove(txn, 2).map(drop)?,
            2 => table.put(txn, 7, &[9; 700]).map(drop)?,
            3 => (100..200).try_for_each(|key| table.put(txn, key, &[1; 60]).map(drop))?,
            4 => table.remove_range(txn, 3..30).map(drop)?,
            _ => table
                .clear(txn)
                .or_else(|_| (0..250).try_for_each(|key| table.remove(txn, key).map(drop)))?,
        }
    }
    Ok(())
}

fn survives(what: &str, image: &[u8]) {
    let disk = SimDisk::from_image(image, 8 << 20).unwrap().quiet();
    let used = catch_unwind(AssertUnwindSafe(|| use_it(&disk)));
    assert!(used.is_ok(), "{what}");
}

/// P7, P16: ids at the edge of what they may be.
#[test]
fn metas_with_extreme_ids() {
    let model = model();
    let highest = (1u64 << 60) - 1;
    for (txnid, ceiling) in [
        (0, 0),
        (0, 1 << 33),
        (5, highest),
        (highest, highest),
        (highest - (1 << 32), highest),
        (highest - (2 << 32), highest - (1 << 32)),
    ] {
        let mut image = model.clone();
        forge_metas(&mut image, |meta| {
            set(meta, 48, txnid);
            set(meta, 56, 0);
            set(meta, 64, ceiling);
        });
        survives(&format!("ids {txnid} and {ceiling}"), &image);
        forge_metas(&mut image, |meta| meta[96..160].fill(0));
        survives(&format!("ids {txnid} and {ceiling}, no tree"), &image);
    }
}

#[test]
fn trees_with_false_counts() {
    let model = model();
    for value in [0, 1, u64::MAX - 1, u64::MAX] {
        for at in [16, 40, 48] {
            let mut image = model.clone();
            // The main table's record in the metas, and all that look like one in leaves.
            forge_metas(&mut image, |meta| match at {
                48 => set_half(meta, 96 + at, value as u32),
                _ => set(meta, 96 + at, value),
            });
            survives(&format!("main: {value} at {at}"), &image);
            let mut image = model.clone();
            forge_pages(&mut image, 2, |page| {
                let places: Vec<usize> = (HEADER_BYTES..=256 - 64)
                    .filter(|&from| {
                        Tree::decode(&page[from..from + 64]).is_ok_and(|tree| tree.entries == 40)
                    })
                    .collect();
                for from in places {
                    match at {
                        48 => set_half(page, from + at, value as u32),
                        _ => set(page, from + at, value),
                    }
                }
            });
            survives(&format!("table: {value} at {at}"), &image);
        }
    }
}

/// P12: free space that is not free, and free space that is named twice.
#[test]
fn free_space_that_misleads() {
    let model = model();
    let used = u64::from(u32::from_le_bytes(model[88..92].try_into().unwrap()));
    let first = 3 * META_BYTES as u64 / 256;
    let lists: [&[(u64, u64, u64, u64)]; 8] = [
        &[(first, 4, 0, 0), (first, 4, 0, 0)],
        &[(first, 8, 0, 0), (first + 2, 2, 1, 2)],
        &[(first, used - first, 0, 0)],
        &[(first, 1, u64::MAX, u64::MAX)],
        &[(first, 1, u64::MAX, 0), (first + 1, 1, 7, 3)],
        &[(first, 0, 1, 0), (first, 0, 1, 0)],
        &[(first + 3, 0, u64::MAX, u64::MAX)],
        &[(first, 1 | 1 << 31, 0, u64::MAX), (first + 1, 1 | 1 << 31, 0, u64::MAX)],
    ];
    for items in lists {
        let mut image = model.clone();
        forge_metas(&mut image, |meta| {
            meta[256..].fill(0);
            set_half(meta, 192, items.len() as u32);
            for (n, (pgno, pages, birth, freed)) in items.iter().enumerate() {
                set(meta, 256 + 24 * n, pgno | pages << 32);
                set(meta, 264 + 24 * n, *birth);
                set(meta, 272 + 24 * n, *freed);
            }
        });
        survives(&format!("{items:?}"), &image);
    }
}

/// Children that lie elsewhere, are younger than the transaction, or hang below twice.
#[test]
fn branches_that_mislead() {
    let model = model();
    let pointer = |page: &[u8], n: usize| {
        let count = header::count(page);
        let at = HEADER_BYTES + 8 * count + 12 * n;
        (at, Ptr::decode(page[at..at + 12].try_into().unwrap()))
    };
    type Forge = dyn Fn(Ptr, Ptr) -> (u32, u64);
    let forgeries: [(&str, &Forge); 7] = [
        ("from the future", &|ptr, _| (ptr.pgno.0, u64::MAX)),
        ("of the next transaction", &|ptr, _| (ptr.pgno.0, ptr.birth.0 + 1)),
        ("nowhere", &|ptr, _| (0, ptr.birth.0)),
        ("in a meta", &|ptr, _| (1, ptr.birth.0)),
        ("outside", &|ptr, _| (u32::MAX, ptr.birth.0)),
        ("old and outside", &|_, _| (u32::MAX - 1, 0)),
        ("twice", &|_, first| (first.pgno.0, first.birth.0)),
    ];
    for (what, forge) in forgeries {
        for child in [0usize, 1, usize::MAX] {
            let mut image = model.clone();
            forge_pages(&mut image, 1, |page| {
                let (_, first) = pointer(page, 0);
                let (at, ptr) = pointer(page, child.min(header::count(page) - 1));
                let (pgno, birth) = forge(ptr, first);
                set_half(page, at, pgno);
                set(page, at + 4, birth);
            });
            survives(&format!("{what}: child {child}"), &image);
        }
    }
    // The same with pages that say the same of themselves.
    let mut image = model.clone();
    forge_pages(&mut image, 1, |page| {
        for n in 0..header::count(page) {
            let (at, _) = pointer(page, n);
            set(page, at + 4, u64::MAX);
        }
    });
    forge_pages(&mut image, 2, |page| set(page, 16, u64::MAX));
    survives("everything is from the future", &image);
}

/// Large values that lie elsewhere.
#[test]
fn large_values_that_mislead() {
    let model = model();
    for (pgno, bytes, birth) in [
        (u32::MAX, 1000u32, None),
        (1, 1000, None),
        (60, 0x7FF0_0000, None),
        (60, 1000, Some(u64::MAX)),
        (0xFFFF_0000, 0x7FF0_0000, Some(0)),
    ] {
        let mut image = model.clone();
        forge_pages(&mut image, 2, |page| {
            let found = (HEADER_BYTES..=256 - 28).find(|&at| {
                let at_len = u32::from_le_bytes(page[at + 4..at + 8].try_into().unwrap());
                at_len == 1000 && page[at + 24..at + 28] == [0; 4]
            });
            if let Some(at) = found {
                set_half(page, at, pgno);
                set_half(page, at + 4, bytes);
                if let Some(birth) = birth {
                    set(page, at + 8, birth);
                }
            }
        });
        survives(&format!("{pgno} {bytes} {birth:?}"), &image);
    }
}

/// A lock file with any one word of its state out of order.
#[test]
fn lock_files_with_one_bad_word() {
    let disk = killed();
    let words = disk.lock_image();
    for at in 0..96 {
        for value in [0, 1, 7, 8, u64::MAX, u64::MAX >> 3, 1 << 60, words[at] ^ 1, words[at] + 8] {
            let mut words = words.clone();
            words[at] = value;
            let disk = disk.after_crash(&disk.image(), true).unwrap().quiet();
            let disk = disk.with_lock_image(&words);
            let used = catch_unwind(AssertUnwindSafe(|| {
                let env = options().open_simulated(&disk)?;
                assert!(has(&env, 1), "what is durable stays: word {at}, {value:#x}");
                put(&env, 3, Durability::Lazy);
                put(&env, 4, Durability::Durable);
                env.check().map(|report| assert!(report.is_clean(), "word {at}, {value:#x}"))
            }));
            let used = used.unwrap_or_else(|_| panic!("word {at}, {value:#x}"));
            if let Err(error) = used {
                assert!(matches!(error, Error::NotADatabase(_)), "word {at}, {value:#x}: {error}");
            }
        }
    }
}

/// The words of the lock file that name the newest sealed image, and the image's own name: both
/// changed alike, so that they agree with each other and not with the image.
#[test]
fn an_image_under_another_name_is_not_what_was_sealed() {
    const SEALED: usize = 40;
    const IMAGE_MARKS: usize = 80;
    let disk = killed();
    let mut words = disk.lock_image();
    let index = words[SEALED] as usize % 8;
    for name in [words[SEALED] + 8, words[SEALED] - 8, !7 | index as u64] {
        (words[SEALED], words[IMAGE_MARKS + index]) = (name, name);
        let disk = disk.after_crash(&disk.image(), true).unwrap().with_lock_image(&words);
        let env = options().open_simulated(&disk).unwrap();
        assert_eq!(env.recovery(), Recovery::Flushed);
        assert!(has(&env, 1) && !has(&env, 2));
    }
}

/// The words of the lock file that name the durable image, and the name of another image: it bears
/// the id of the sealed one, and comes after it.
#[test]
fn an_image_beside_the_sealed_one_is_not_what_is_durable() {
    const DURABLE: usize = 48;
    const METAS: std::ops::Range<usize> = 64..76;
    const IMAGE_MARKS: usize = 80;
    let disk = SimDisk::new(1 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    put(&env, 1, Durability::Durable);
    let mut words = disk.lock_image();
    let durable = words[DURABLE];
    let other = durable | 7;
    assert!(other > durable, "the last image is another one");
    for at in METAS.step_by(4).chain([DURABLE]) {
        if words[at] == durable {
            words[at] = other;
        }
    }
    words[IMAGE_MARKS + 7] = other;
    let disk = disk.after_crash(&disk.image(), true).unwrap().with_lock_image(&words);
    let env = options().open_simulated(&disk).unwrap();
    assert!(has(&env, 1));
    assert!(env.check().unwrap().is_clean());
    put(&env, 2, Durability::Lazy);
    assert!(has(&env, 2) && env.check().unwrap().is_clean());
}
