//! Whether the kernel gets the hints about how the file is read.

#![cfg(target_os = "linux")]

use huon::{Bytes, Env, Options, ReadAhead, TableDef, U64};
use huon_testkit::maps::is_read_alone;

#[test]
fn the_system_is_told() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let wishes = [
        (Options::default(), false),
        (Env::options().read_ahead(ReadAhead::Always).clone(), false),
        (Env::options().read_ahead(ReadAhead::Never).clone(), true),
    ];
    for (number, (options, alone)) in wishes.into_iter().enumerate() {
        let path = dir.path().join(number.to_string());
        let env = options.open(&path).unwrap();
        assert_eq!(is_read_alone(&path), alone, "{options:?}");
        assert_eq!(env.info().unwrap().reads_ahead, !alone);
    }
}

#[test]
fn answers_are_the_same_in_a_file_that_is_not_in_memory() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    const T: TableDef<U64, Bytes> = TableDef::new("t");
    let value = |key: u64| vec![key as u8; if key.is_multiple_of(100) { 20_000 } else { 1000 }];
    let filled = Env::options().open(&path).unwrap();
    filled
        .update(|txn| {
            let t = txn.create_table(&T)?;
            (0..5000).try_for_each(|key| t.put(txn, key, &value(key)).map(drop))
        })
        .unwrap();
    drop(filled);
    let file = std::fs::File::open(&path).unwrap();
    // SAFETY: the descriptor is open; the call touches no memory.
    unsafe {
        use std::os::fd::AsRawFd;
        libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED)
    };
    let env = Env::options().read_ahead(ReadAhead::Never).open(&path).unwrap();
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap().unwrap();
    let records = t.iter(&txn).unwrap().map(Result::unwrap);
    assert!(
        records
            .map(|(key, bytes)| (key, bytes.to_vec()))
            .eq((0..5000).map(|key| (key, value(key))))
    );
    let keys: Vec<u64> = (0..200).map(|n| n * 31 % 5000).collect();
    t.get_many(&txn, &keys, |i, bytes| assert_eq!(bytes.unwrap(), value(keys[i]))).unwrap();
    let io = env.info().unwrap().io;
    println!("{} requests, {} bytes", io.requests, io.requested_bytes);
}
