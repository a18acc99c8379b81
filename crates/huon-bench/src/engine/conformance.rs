//! The same test for every engine: a random history beside a map of the standard library.

use std::collections::BTreeMap;

use super::{ENGINES, Engine, Mode, Read, Result, Setup, Visit, Way, Write, visit};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const MODES: [Mode; 3] = [Mode::Durable, Mode::Lazy, Mode::Unsynced];

#[test]
fn every_engine_does_what_a_map_does() -> Result<()> {
    let mut tried = 0;
    for listed in ENGINES.iter().filter(|listed| listed.absent.is_none()) {
        for mode in MODES {
            tried += visit(listed.name, History { mode })?
                .map_err(|error| format!("{}, {}: {error}", listed.name, mode.name()))?;
        }
    }
    // Nothing of this may quietly do nothing: Huon is always there.
    assert!(tried > 0, "no engine was tried");
    Ok(())
}

struct History {
    mode: Mode,
}

impl Visit for History {
    type Out = Result<u32>;

    /// How many modes were tried: none of a floor, or one the engine does not offer.
    fn visit<E: Engine>(self) -> Result<u32> {
        if !E::offers(self.mode) || !E::KEEPS || !E::READS {
            return Ok(0);
        }
        let setup =
            Setup { mode: self.mode, cache_bytes: 64 << 20, page_bytes: None, background: true };
        assert!(!E::version().is_empty() && !E::options(&setup).is_empty());
        // With deletes, and how often the database is opened.
        let histories: &[(bool, u32)] =
            if E::KEEPS_DELETES { &[(true, 3)] } else { &[(true, 1), (false, 3)] };
        for &(deletes, openings) in histories {
            history::<E>(&setup, deletes, openings)?;
        }
        Ok(1)
    }
}

fn history<E: Engine>(setup: &Setup, deletes: bool, openings: u32) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut model = Model::new();
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..openings {
        let db = E::open(dir.path(), setup)?;
        compare(&db, &model, &mut rng)?;
        for _ in 0..12 {
            transaction(&db, &mut model, &mut rng, deletes)?;
            compare(&db, &model, &mut rng)?;
        }
        if E::TRANSACTS {
            snapshot(&db, &mut model)?;
            aborts(&db)?;
        }
        alone(&db, &mut model, &mut rng)?;
        compare(&db, &model, &mut rng)?;
        db.sync()?;
        db.work_off()?;
        compare(&db, &model, &mut rng)?;
        db.settle()?;
        compare(&db, &model, &mut rng)?;
        db.remarks()?;
        db.close()?;
    }
    assert!(model.len() > 100, "{}: too little was kept", E::NAME);
    Ok(())
}

/// Short keys, so that they meet again, some with long ends.
fn key(rng: &mut fastrand::Rng) -> Vec<u8> {
    let mut key = vec![rng.u8(..), rng.u8(..4)];
    key.resize(2 + rng.usize(0..3) * 100, b'k');
    key
}

/// A value that the engine takes with a key so long.
fn value<E: Engine>(rng: &mut fastrand::Rng, key_bytes: usize) -> Vec<u8> {
    let length = match rng.u8(0..10) {
        0 => 0,
        1 => rng.usize(10_000..20_000),
        _ => rng.usize(1..200),
    };
    let length = length.max(E::LIMITS.value_bytes_min).min(E::LIMITS.record_bytes_max - key_bytes);
    assert_eq!(E::LIMITS.refuse(key_bytes, length), None, "{}", E::NAME);
    (0..length).map(|_| rng.u8(..)).collect()
}

/// A transaction of random changes, at whose end the model is what the database must be.
fn transaction<E: Engine>(
    db: &E,
    model: &mut Model,
    rng: &mut fastrand::Rng,
    deletes: bool,
) -> Result<()> {
    let mut txn = db.write()?;
    for _ in 0..rng.usize(1..150) {
        let key = key(rng);
        if deletes && rng.u8(0..3) == 0 {
            let was_there = model.remove(&key).is_some();
            let said = txn.delete(&key)?;
            assert!(said || !was_there, "{}: a key that was there was not deleted", E::NAME);
        } else {
            let value = value::<E>(rng, key.len());
            txn.put(&key, &value)?;
            model.insert(key.clone(), value);
        }
        if <E::Write<'_> as Write>::SEES_ITSELF {
            let seen = txn.get(&key, <[u8]>::to_vec)?;
            assert_eq!(seen.as_ref(), model.get(&key), "{}: in the transaction", E::NAME);
        }
    }
    txn.commit()
}

/// Puts with a commit each, in two threads.
fn alone<E: Engine>(db: &E, model: &mut Model, rng: &mut fastrand::Rng) -> Result<()> {
    let mut shares = [Vec::new(), Vec::new()];
    for (at, share) in shares.iter_mut().enumerate() {
        for _ in 0..10 {
            // No key is in both.
            let key = [vec![at as u8], key(rng)].concat();
            let value = value::<E>(rng, key.len());
            model.insert(key.clone(), value.clone());
            share.push((key, value));
        }
    }
    std::thread::scope(|scope| {
        let put = |share: &[(Vec<u8>, Vec<u8>)]| {
            share.iter().try_for_each(|(key, value)| db.put_alone(key, value))
        };
        let threads = shares.each_ref().map(|share| scope.spawn(move || put(share)));
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })
}

/// Looks at everything, in every way that the engine has.
fn compare<E: Engine>(db: &E, model: &Model, rng: &mut fastrand::Rng) -> Result<()> {
    let mut read = db.read()?;
    for key in model.keys().take(50).cloned().chain((0..50).map(|_| key(rng))) {
        let found = read.get(&key, <[u8]>::to_vec)?;
        assert_eq!(found.as_ref(), model.get(&key), "{}: get", E::NAME);
    }
    scans(&mut read, model, None, u64::MAX)?;
    for limit in [1, 7, u64::MAX] {
        let from = key(rng);
        scans(&mut read, model, Some(&from), limit)?;
        if let Some(first) = model.keys().nth(rng.usize(0..model.len().max(1))) {
            scans(&mut read, model, Some(first), limit)?;
        }
    }
    // Beyond both ends.
    scans(&mut read, model, Some(&[0xFF; 8]), 5)?;
    scans(&mut read, model, Some(&[0]), 5)?;
    if <E::Read<'_> as Read>::GETS_MANY {
        let wanted: Vec<Vec<u8>> = (0..64).map(|_| key(rng)).collect();
        let keys: Vec<&[u8]> = wanted.iter().map(Vec::as_slice).collect();
        let mut found = vec![None; keys.len()];
        read.get_many(&keys, |at, value| found[at] = Some(value.map(<[u8]>::to_vec)))?;
        let right: Vec<_> = wanted.iter().map(|key| Some(model.get(key).cloned())).collect();
        assert_eq!(found, right, "{}: get_many", E::NAME);
    }
    if <E::Read<'_> as Read>::SCANS_PAGES {
        let mut found = Vec::new();
        let count = read.scan_pages(|key, value| found.push((key.to_vec(), value.to_vec())))?;
        let right: Vec<_> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        assert!(found == right && count == right.len() as u64, "{}: scan_pages", E::NAME);
        let mut found = Vec::new();
        let count = read.number_pages(|key, value| found.push((key.to_vec(), value.to_vec())))?;
        assert!(found == right && count == right.len() as u64, "{}: number_pages", E::NAME);
    }
    if <E::Read<'_> as Read>::STEPS {
        let mut found = Vec::new();
        let count = read.steps(|key, value| found.push((key.to_vec(), value.to_vec())))?;
        let right: Vec<_> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        assert!(found == right && count == right.len() as u64, "{}: steps", E::NAME);
    }
    Ok(())
}

/// A scan each way, and its first record alone.
fn scans<R: Read>(read: &mut R, model: &Model, from: Option<&[u8]>, limit: u64) -> Result<()> {
    let within = |key: &[u8], way: Way| match (from, way) {
        (None, _) => true,
        (Some(from), Way::Up) => key >= from,
        (Some(from), Way::Down) => key <= from,
    };
    for way in [Way::Up, Way::Down] {
        if way == Way::Down && !R::SCANS_DOWN {
            continue;
        }
        let mut found = Vec::new();
        let count =
            read.scan(from, way, limit, |key, value| found.push((key.to_vec(), value.to_vec())))?;
        let mut right: Vec<_> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        if way == Way::Down {
            right.reverse();
        }
        right.retain(|(key, _)| within(key, way));
        right.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        assert_eq!(count, right.len() as u64, "{way:?} from {from:?}, at most {limit}");
        assert!(found == right, "{way:?} from {from:?}, at most {limit}: other records");
        let look = |key: &[u8], value: &[u8]| (key.to_vec(), value.to_vec());
        let one = match from {
            None => read.end(way, look)?,
            Some(from) => read.near(from, way, look)?,
        };
        assert!(one.as_ref() == right.first(), "{way:?} from {from:?}: another record");
    }
    Ok(())
}

/// What a read transaction has read it reads again, whatever was committed meanwhile.
fn snapshot<E: Engine>(db: &E, model: &mut Model) -> Result<()> {
    let Some(key) = model.keys().next().cloned() else { return Ok(()) };
    let before = model.get(&key).cloned();
    let mut read = db.read()?;
    assert_eq!(read.get(&key, <[u8]>::to_vec)?, before);
    let mut txn = db.write()?;
    txn.put(&key, b"newer")?;
    txn.commit()?;
    model.insert(key.clone(), b"newer".to_vec());
    assert_eq!(read.get(&key, <[u8]>::to_vec)?, before, "{}: no snapshot", E::NAME);
    if <E::Read<'_> as Read>::RENEWS {
        read.renew()?;
        assert_eq!(read.get(&key, <[u8]>::to_vec)?.as_deref(), Some(&b"newer"[..]));
    }
    Ok(())
}

/// Neither a transaction that is given up nor one that is dropped leaves anything; the comparison
/// after it would see it.
fn aborts<E: Engine>(db: &E) -> Result<()> {
    for given_up in [true, false] {
        let mut txn = db.write()?;
        txn.put(b"never", b"seen")?;
        if given_up {
            txn.abort()?;
        }
    }
    assert_eq!(db.read()?.get(b"never", |_| ())?, None, "{}: an abort left something", E::NAME);
    Ok(())
}
