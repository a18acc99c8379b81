//! Tables know the types of their keys and values, and open as no others.

use huon::{Bytes, Env, Error, MultiDef, NativeU32, Order, Str, TableDef, U32, U64, Unit};

fn env(dir: &tempfile::TempDir) -> Env {
    Env::options().open(dir.path().join("a.huon")).unwrap()
}

/// Both types, those of the file first.
fn refused<T: std::fmt::Debug>(result: huon::Result<T>) -> (String, String) {
    match result {
        Err(Error::TableType(types)) => (types.stored.to_string(), types.wanted.to_string()),
        other => panic!("{other:?}"),
    }
}

fn pair(stored: &str, wanted: &str) -> (String, String) {
    (stored.into(), wanted.into())
}

#[test]
fn a_table_opens_with_its_types_only() {
    const AGES: TableDef<Str, U64> = TableDef::new("ages");
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    env.update(|txn| txn.create_table(&AGES)?.put(txn, "ann", 7)).unwrap();
    let (reader, mut writer) = (env.read().unwrap(), env.write().unwrap());
    let wrong = pair("<str, u64>", "<str, str>");
    assert_eq!(refused(reader.open_table(&TableDef::<Str, Str>::new("ages"))), wrong);
    assert_eq!(refused(writer.open_table(&TableDef::<Str, Str>::new("ages"))), wrong);
    assert_eq!(refused(writer.create_table(&TableDef::<Str, Str>::new("ages"))), wrong);
    let wrong = pair("<str, u64>", "<(str, u32), unit>");
    assert_eq!(refused(reader.open_table(&TableDef::<(Str, U32), Unit>::new("ages"))), wrong);
    assert_eq!(reader.open_table(&AGES).unwrap().unwrap().get(&reader, "ann").unwrap(), Some(7));

    // Bytes are of no type, on either side, and on each alone.
    let raw = reader.open_table(&TableDef::<Bytes, Bytes>::new("ages")).unwrap().unwrap();
    assert_eq!(raw.get(&reader, b"ann").unwrap(), Some(&7u64.to_be_bytes()[..]));
    assert!(reader.open_table(&TableDef::<Str, Bytes>::new("ages")).unwrap().is_some());
    let wrong = pair("<str, u64>", "<u64, bytes>");
    assert_eq!(refused(reader.open_table(&TableDef::<U64, Bytes>::new("ages"))), wrong);
    writer.create_table(&TableDef::<Bytes, Bytes>::new("raw")).unwrap();
    assert!(writer.open_table(&TableDef::<Str, U64>::new("raw")).unwrap().is_some());
}

#[test]
fn a_handle_notices_that_its_table_was_made_anew_with_other_types() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let t = env.update(|txn| txn.create_table(&TableDef::<Str, U64>::new("t"))).unwrap();
    let early = env.table(&TableDef::<Str, U64>::new("t")).unwrap();
    let tags = TableDef::<Str, Str>::new("t");
    env.update(|txn| {
        t.drop_table(txn)?;
        txn.create_table(&tags)?.put(txn, "ann", "text").map(drop)
    })
    .unwrap();
    let wrong = pair("<str, str>", "<str, u64>");
    assert_eq!(refused(t.get(&env.read().unwrap(), "ann")), wrong);
    assert_eq!(refused(early.get(&env.read().unwrap(), "ann")), wrong);
    assert_eq!(refused(env.update(|txn| t.put(txn, "ann", 7))), wrong);
}

#[test]
fn types_stay_with_a_table_whatever_happens_to_it() {
    const TAGS: MultiDef<(Str, U32), NativeU32> = MultiDef::new("tags");
    let by_length = Order::custom("by-length", |a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    let words = TableDef::<Str, Unit>::new("words").ordered(by_length);
    let dir = tempfile::tempdir().unwrap();
    let copies = [dir.path().join("whole.huon"), dir.path().join("compact.huon")];
    {
        let env = env(&dir);
        env.update(|txn| {
            let tags = txn.create_table(&TAGS)?;
            tags.put(txn, ("ann", 1), 7)?;
            tags.rename(txn, b"renamed")?;
            txn.create_table(&words)?.put(txn, "word", ())
        })
        .unwrap();
        env.copy_to(&copies[0], huon::CopyOptions::new()).unwrap();
        env.copy_to(&copies[1], huon::CopyOptions::new().compact(true)).unwrap();
    }
    for path in [&dir.path().join("a.huon"), &copies[0], &copies[1]] {
        let env = Env::options().open(path).unwrap();
        let txn = env.read().unwrap();
        let wrong = pair("<(str, u32), native-u32>", "<str, native-u32>");
        let other = MultiDef::<Str, NativeU32>::new("renamed");
        assert_eq!(refused(txn.open_table(&other)), wrong);
        let tags = txn.open_table(&MultiDef::<(Str, U32), NativeU32>::new("renamed"));
        let tags = tags.unwrap().unwrap();
        let all: Vec<_> = tags.iter(&txn).unwrap().map(Result::unwrap).collect();
        assert_eq!(all, [(("ann".into(), 1), 7)]);
        let stat = txn.table_stat(b"words").unwrap().unwrap();
        let names = [stat.comparator, stat.key_type, stat.value_type];
        assert_eq!(names.map(Option::unwrap), ["by-length", "str", "unit"]);
        let report = env.check().unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}
