//! Puts that begin where the last one was made agree with a map, whatever comes between them.

use std::collections::BTreeMap;

use huon::{Bytes, Env, Error, RawTable, TableDef, WriteTxn};
use huon_testkit::random::Random;
use huon_testkit::scale;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const TABLES: [TableDef<Bytes, Bytes>; 2] = [TableDef::new("a"), TableDef::new("b")];

fn key(n: u32) -> Vec<u8> {
    // Of several lengths, in the order of the numbers.
    let mut key = n.to_be_bytes().to_vec();
    key.extend(std::iter::repeat_n(b'k', n as usize % 23));
    key
}

/// A stretch of neighbouring keys, up or down, put and deleted.
fn stretch(
    random: &mut Random,
    txn: &mut WriteTxn,
    table: RawTable,
    model: &mut Model,
) -> huon::Result<()> {
    let mut at = 1000 + random.below(1000) as u32;
    let step = if random.chance(50) { 1 } else { u32::MAX };
    for _ in 0..1 + random.index(39) {
        at = at.wrapping_add(step.wrapping_mul(1 + random.below(3) as u32));
        if random.chance(15) {
            let gone = model.remove(&key(at)).is_some();
            assert_eq!(table.remove(txn, &key(at))?, gone);
        } else {
            let value = vec![random.below(256) as u8; random.index(70)];
            let new = model.insert(key(at), value.clone()).is_none();
            assert_eq!(table.put(txn, &key(at), &value)?, new);
        }
    }
    Ok(())
}

fn agrees(txn: &WriteTxn, table: RawTable, model: &Model) {
    let found: Vec<(Vec<u8>, Vec<u8>)> = table
        .iter(txn)
        .unwrap()
        .map(|r| r.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap())
        .collect();
    assert!(found.iter().map(|(k, v)| (k, v)).eq(model), "{} of {}", found.len(), model.len());
}

#[test]
fn neighbouring_puts_agree_with_a_map() {
    for seed in 0..scale::share(400) {
        let mut random = Random::new(scale::seed("fingers", seed));
        let dir = tempfile::tempdir().unwrap();
        let mut options = Env::options();
        options.page_bytes(256).write_buffer_bytes(256 * (8 + random.index(50)));
        let env = options.open(dir.path().join("a.huon")).unwrap();
        let mut models = [Model::new(), Model::new()];
        for _ in 0..12 {
            let mut txn = env.write().unwrap();
            let tables = [0, 1].map(|n| txn.create_table(&TABLES[n]).unwrap().raw());
            for _ in 0..1 + random.index(7) {
                let which = random.index(2);
                let (table, model) = (tables[which], &mut models[which]);
                match random.below(8) {
                    0 => {
                        let mut lost = model.clone();
                        let aborted = txn.nested(|txn| {
                            stretch(&mut random, txn, table, &mut lost)?;
                            agrees(txn, table, &lost);
                            Err::<(), _>(Error::Invalid("on purpose"))
                        });
                        assert!(matches!(aborted, Err(Error::Invalid("on purpose"))));
                    }
                    1 => txn.nested(|txn| stretch(&mut random, txn, table, model)).unwrap(),
                    2 => {
                        let last = model
                            .last_key_value()
                            .map_or(0, |(k, _)| u32::from_be_bytes(k[..4].try_into().unwrap()));
                        for n in last + 1..last + 2 + random.below(28) as u32 {
                            table.append(&mut txn, &key(n), b"at the end").unwrap();
                            model.insert(key(n), b"at the end".to_vec());
                        }
                        let again = table.append(&mut txn, &key(last), b"");
                        assert!(matches!(again, Err(Error::KeyOutOfOrder)));
                    }
                    _ => stretch(&mut random, &mut txn, table, model).unwrap(),
                }
                agrees(&txn, table, model);
            }
            txn.commit().unwrap();
        }
        let report = env.check().unwrap();
        assert!(report.is_clean(), "seed {seed}: {report:?}");
    }
}
