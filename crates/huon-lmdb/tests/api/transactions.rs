//! Environments, transactions and the handles of databases.

use std::fs;
use std::ptr;

use crate::common::*;

#[test]
fn ids_count_commits_from_one() {
    let env = Env::new();
    assert_eq!(env.info().me_last_txnid, 0, "nothing was committed");
    for id in 1..4 {
        let empty = env.begin();
        assert_eq!(mdb_txn_id(empty), id);
        assert_eq!(mdb_txn_commit(empty), 0);
        let aborted = env.begin();
        assert_eq!(mdb_txn_id(aborted), id, "an empty commit has used up no id");
        assert!(dbi_open(aborted, Some("gone"), CREATE).is_ok());
        mdb_txn_abort(aborted);
        let txn = env.begin();
        assert_eq!(mdb_txn_id(txn), id, "an aborted transaction has used up no id");
        assert_eq!(put(txn, dbi_open(txn, None, 0).unwrap(), &[id as u8], b"", 0), 0);
        assert_eq!(mdb_txn_commit(txn), 0);
        assert_eq!(env.info().me_last_txnid, id);
        let reader = env.read();
        assert_eq!(mdb_txn_id(reader), id);
        mdb_txn_abort(reader);
    }
    let path = env.path().to_owned();
    mdb_env_close(env.env);
    let again = Env::at(&path, 0);
    assert_eq!(again.info().me_last_txnid, 3);
    let txn = again.begin();
    assert_eq!(mdb_txn_id(txn), 4, "it was closed in order");
    mdb_txn_abort(txn);
}

/// A transaction that has told its id keeps it, however much it writes.
#[test]
fn an_id_that_was_told_is_the_snapshots() {
    let env = Env::new();
    let txn = env.begin();
    let dbi = dbi_open(txn, None, 0).unwrap();
    let id = mdb_txn_id(txn);
    let value = vec![1; 100_000];
    for round in 0..40u32 {
        assert_eq!(put(txn, dbi, &(round % 3).to_ne_bytes(), &value, 0), 0, "round {round}");
    }
    assert_eq!(mdb_txn_id(txn), id);
    assert_eq!(mdb_txn_commit(txn), 0);
    assert_eq!(env.info().me_last_txnid, id as usize);
    let reader = env.read();
    assert_eq!(mdb_txn_id(reader), id);
    mdb_txn_abort(reader);
}

#[test]
fn files_have_the_names_that_are_known() {
    let env = Env::new();
    let mut names: Vec<_> =
        fs::read_dir(env.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["data.mdb", "lock.mdb"]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("single");
    let single = Env::at(&path, NOSUBDIR);
    assert!(path.is_file() && dir.path().join("single-lock").is_file());
    let mut text = ptr::null();
    // SAFETY: the pointer is good for writing; the text lives as long as the environment.
    let text = unsafe {
        assert_eq!(mdb_env_get_path(single.env, &mut text), 0);
        std::ffi::CStr::from_ptr(text)
    };
    assert_eq!(text.to_str().unwrap(), path.to_str().unwrap());
}

#[test]
fn what_is_no_environment_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let missing = create();
    assert_eq!(open_at(missing, &dir.path().join("none"), 0), libc::ENOENT);
    mdb_env_close(missing);
    let data = dir.path().join("data.mdb");
    // The head of a file of LMDB's own: page 0, a meta page, magic number, version 1.
    let mut lmdb = vec![0u8; 8192];
    lmdb[10] = 0x08;
    lmdb[16..20].copy_from_slice(&0xBEEF_C0DEu32.to_le_bytes());
    lmdb[20] = 1;
    for content in [lmdb, b"some text, and not much of it".to_vec(), vec![b'x'; 100_000]] {
        fs::write(&data, &content).unwrap();
        fs::write(dir.path().join("lock.mdb"), b"").unwrap();
        for flags in [0, RDONLY] {
            let env = create();
            let code = open_at(env, dir.path(), flags);
            assert!([INVALID, VERSION_MISMATCH].contains(&code), "{code}");
            assert_eq!(mdb_env_set_mapsize(env, 1 << 20), 0);
            mdb_env_close(env);
        }
        assert_eq!(fs::read(&data).unwrap(), content);
    }
}

#[test]
fn flags_are_kept_and_few_can_be_changed() {
    let env = create();
    assert_eq!(mdb_env_set_flags(env, RDONLY, 1), libc::EINVAL, "even before it is opened");
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(open_at(env, dir.path(), 0x8000_0000), libc::EINVAL, "there is no such flag");
    assert_eq!(open_at(env, dir.path(), NOTLS | 0x1_0000), 0);
    let mut flags = 0;
    // SAFETY: the pointer is good for writing.
    assert_eq!((unsafe { mdb_env_get_flags(env, &mut flags) }, flags), (0, NOTLS | 0x1_0000));
    assert_eq!(mdb_env_set_flags(env, 0x1_0000, 0), 0);
    // SAFETY: as before.
    assert_eq!((unsafe { mdb_env_get_flags(env, &mut flags) }, flags), (0, NOTLS));
    assert_eq!(open_at(env, dir.path(), 0), libc::EINVAL, "it is open");
    assert_eq!(mdb_env_set_maxreaders(env, 7), libc::EINVAL);
    mdb_env_close(env);
}

#[test]
fn a_thread_has_one_read_transaction_unless_told_otherwise() {
    let env = Env::with(0);
    let first = env.read();
    assert_eq!(env.begin_as(ptr::null_mut(), RDONLY), Err(BAD_RSLOT));
    let writer = env.begin();
    mdb_txn_abort(writer);
    mdb_txn_reset(first);
    let second = env.read();
    assert_eq!(mdb_txn_renew(first), BAD_RSLOT);
    mdb_txn_abort(second);
    assert_eq!(mdb_txn_renew(first), 0);
    assert_eq!(mdb_txn_renew(first), libc::EINVAL, "it is live");
    mdb_txn_abort(first);
    let env = Env::with(NOTLS);
    let two = [env.read(), env.read()];
    two.into_iter().for_each(|txn| mdb_txn_abort(txn));
}

#[test]
fn no_more_readers_than_were_allowed_for() {
    let dir = tempfile::tempdir().unwrap();
    let env = create();
    assert_eq!(mdb_env_set_maxreaders(env, 2), 0);
    assert_eq!(open_at(env, dir.path(), NOTLS), 0);
    let env = Env { env, dir: Some(dir) };
    let two = [env.read(), env.read()];
    assert_eq!(env.begin_as(ptr::null_mut(), RDONLY), Err(READERS_FULL));
    two.into_iter().for_each(|txn| mdb_txn_abort(txn));
    mdb_txn_abort(env.read());
}

#[test]
fn a_reset_transaction_shows_nothing() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let reader = env.read();
    let c = cursor(reader, dbi);
    mdb_txn_reset(reader);
    assert_eq!(get(reader, dbi, b"k"), Err(libc::EINVAL));
    assert!(go(c, FIRST).is_err());
    assert_eq!(mdb_txn_renew(reader), 0);
    assert_eq!(get(reader, dbi, b"k"), Err(NOTFOUND));
    mdb_txn_abort(reader);
    mdb_cursor_close(c);
}

#[test]
fn readers_write_nothing() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let reader = env.read();
    let c = cursor(reader, dbi);
    assert_eq!(put(reader, dbi, b"k", b"v", 0), libc::EACCES);
    assert_eq!(del(reader, dbi, b"k", None), libc::EACCES);
    assert_eq!(cursor_put(c, b"k", b"v", 0), libc::EACCES);
    assert_eq!(mdb_cursor_del(c, 0), libc::EACCES);
    assert_eq!(mdb_drop(reader, dbi, 0), libc::EACCES);
    assert_eq!(dbi_open(reader, Some("new"), CREATE), Err(libc::EACCES));
    mdb_cursor_close(c);
    mdb_txn_abort(reader);
    let path = env.path().to_owned();
    let read_only = create();
    assert_eq!(open_at(read_only, &path, RDONLY), 0);
    let read_only = Env { env: read_only, dir: None };
    assert_eq!(read_only.begin_as(ptr::null_mut(), 0), Err(libc::EACCES));
    assert_eq!(mdb_env_sync(read_only.env, 1), libc::EACCES);
}

#[test]
fn nested_transactions_are_parts() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    let reader = env.begin_as(txn, RDONLY).unwrap();
    assert_eq!(put(txn, dbi, b"k", b"v", 0), BAD_TXN, "the parent rests");
    assert_eq!(put(reader, dbi, b"k", b"v", 0), libc::EACCES);
    mdb_txn_abort(reader);
    let child = env.begin_as(txn, 0).unwrap();
    assert_eq!(put(txn, dbi, b"k", b"v", 0), BAD_TXN, "the parent rests");
    assert_eq!(env.begin_as(txn, 0), Err(BAD_TXN));
    assert_eq!(put(child, dbi, b"a", b"1", 0), 0);
    let inner = env.begin_as(child, 0).unwrap();
    assert_eq!(put(inner, dbi, b"b", b"2", 0), 0);
    mdb_txn_abort(inner);
    assert_eq!(get(child, dbi, b"b"), Err(NOTFOUND));
    assert_eq!(mdb_txn_commit(child), 0);
    assert_eq!(get(txn, dbi, b"a"), Ok(b"1".to_vec()));
    let open = env.begin_as(txn, 0).unwrap();
    assert_eq!(put(open, dbi, b"c", b"3", 0), 0);
    assert_eq!(mdb_txn_commit(txn), 0, "and its child with it");
    assert_eq!(mdb_txn_commit(open), libc::EINVAL, "which is over");
    let reader = env.read();
    assert_eq!(get(reader, dbi, b"c"), Ok(b"3".to_vec()));
    assert_eq!(env.begin_as(reader, 0), Err(libc::EINVAL));
    mdb_txn_abort(reader);
}

#[test]
fn handles_belong_to_their_transaction_until_it_commits() {
    let env = Env::new();
    let txn = env.begin();
    assert_eq!(dbi_open(txn, Some("a"), 0), Err(NOTFOUND));
    let a = dbi_open(txn, Some("a"), CREATE).unwrap();
    assert_eq!(a, 2, "the first named one");
    assert_eq!(dbi_open(txn, Some("a"), 0), Ok(a));
    assert_eq!(dbi_open(txn, None, 0), Ok(1));
    mdb_txn_abort(txn);
    let txn = env.begin();
    assert_eq!(put(txn, a, b"k", b"v", 0), libc::EINVAL, "the handle went with the transaction");
    assert_eq!(dbi_open(txn, Some("b"), CREATE), Ok(a), "and is given out again");
    assert_eq!(mdb_txn_commit(txn), 0);
    let reader = env.read();
    assert_eq!(get(reader, a, b"k"), Err(NOTFOUND));
    mdb_dbi_close(env.env, a);
    assert_eq!(get(reader, a, b"k"), Err(libc::EINVAL));
    mdb_txn_abort(reader);
}

#[test]
fn no_other_transaction_uses_a_handle_before_the_commit() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    mdb_dbi_close(env.env, dbi);
    let (one, two) = (env.read(), env.read());
    let dbi = dbi_open(one, Some("t"), 0).unwrap();
    assert_eq!(get(one, dbi, b"k"), Err(NOTFOUND));
    assert_eq!(get(two, dbi, b"k"), Err(libc::EINVAL));
    assert_eq!(dbi_open(two, Some("t"), 0), Ok(dbi), "but it may open it, too");
    mdb_txn_abort(one);
    assert_eq!(get(two, dbi, b"k"), Err(NOTFOUND));
    mdb_txn_abort(two);
    let txn = env.begin();
    let made = dbi_open(txn, Some("made"), CREATE).unwrap();
    let child = env.begin_as(txn, 0).unwrap();
    assert_eq!(put(child, made, b"k", b"v", 0), 0);
    let inner = dbi_open(child, Some("inner"), CREATE).unwrap();
    assert_eq!(mdb_txn_commit(child), 0);
    assert_eq!(get(txn, inner, b"k"), Err(NOTFOUND));
    let reader = env.read();
    assert_eq!(dbi_open(reader, Some("made"), 0), Err(NOTFOUND));
    mdb_txn_abort(reader);
    mdb_txn_abort(txn);
}

#[test]
fn a_map_that_others_have_outgrown_is_told() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let path = env.path().to_owned();
    let other = create();
    assert_eq!(mdb_env_set_mapsize(other, 1 << 20), 0);
    assert_eq!(open_at(other, &path, NOTLS), 0);
    let other = Env { env: other, dir: None };
    mdb_txn_abort(other.read());
    let txn = env.begin();
    assert_eq!(put(txn, dbi, b"k", &vec![1; 4 << 20], 0), 0);
    assert_eq!(mdb_txn_commit(txn), 0);
    assert_eq!(other.begin_as(ptr::null_mut(), RDONLY), Err(MAP_RESIZED));
    assert_eq!(mdb_env_set_mapsize(other.env, 0), 0, "as large as they have it");
    assert_eq!(other.info().me_mapsize, 16 << 20);
    mdb_txn_abort(other.read());
}

#[test]
fn a_reset_reader_keeps_its_place_in_the_list() {
    extern "C" fn each(_: *const libc::c_char, count: *mut libc::c_void) -> i32 {
        // SAFETY: the test gives a number.
        unsafe { *count.cast::<i32>() += 1 };
        0
    }
    let env = Env::new();
    let lines = || {
        let mut count = 0;
        // SAFETY: the function expects a number.
        assert_eq!(unsafe { mdb_reader_list(env.env, Some(each), (&raw mut count).cast()) }, 0);
        count
    };
    let reader = env.read();
    assert_eq!(lines(), 2, "the columns' names, and a reader");
    mdb_txn_reset(reader);
    assert_eq!(lines(), 2);
    assert_eq!(mdb_txn_renew(reader), 0);
    assert_eq!(lines(), 2);
    mdb_txn_reset(reader);
    mdb_txn_abort(reader);
    assert_eq!(lines(), 1, "that there is none");
}

#[test]
fn no_more_databases_than_were_allowed_for() {
    let env = Env::new();
    let txn = env.begin();
    for n in 0..8 {
        assert!(dbi_open(txn, Some(&n.to_string()), CREATE).is_ok());
    }
    assert_eq!(dbi_open(txn, Some("more"), CREATE), Err(DBS_FULL));
    mdb_txn_abort(txn);
    let dir = tempfile::tempdir().unwrap();
    let none = create();
    assert_eq!(open_at(none, dir.path(), 0), 0);
    let none = Env { env: none, dir: Some(dir) };
    let txn = none.begin();
    assert_eq!(dbi_open(txn, Some("any"), CREATE), Err(DBS_FULL));
    mdb_txn_abort(txn);
}

#[test]
fn the_main_database_shows_the_names_of_others() {
    let env = Env::new();
    env.dbi("beta", 0);
    env.dbi("alpha", DUPSORT);
    let txn = env.begin();
    let main = dbi_open(txn, None, 0).unwrap();
    assert_eq!(put(txn, main, b"b", b"plain", 0), 0);
    let c = cursor(txn, main);
    let mut found = Vec::new();
    while let Ok((name, value)) = go(c, NEXT) {
        found.push((String::from_utf8(name).unwrap(), value.len()));
    }
    assert_eq!(found, [("alpha".into(), 48), ("b".into(), 5), ("beta".into(), 48)]);
    assert_eq!(get(txn, main, b"beta").map(|record| record.len()), Ok(48));
    assert_eq!(stat(txn, main).unwrap().ms_entries, 3);
    assert_eq!(dbi_open(txn, Some("b"), 0), Err(INCOMPATIBLE), "an ordinary record");
    assert_eq!(put(txn, main, b"beta", b"no", 0), INCOMPATIBLE);
    assert_eq!(del(txn, main, b"beta", None), INCOMPATIBLE);
    mdb_txn_abort(txn);
}

#[test]
fn stored_flags_win() {
    let env = Env::new();
    let dbi = env.dbi("t", DUPSORT | REVERSEKEY);
    mdb_dbi_close(env.env, dbi);
    let txn = env.begin();
    let dbi = dbi_open(txn, Some("t"), INTEGERKEY).unwrap();
    let mut flags = 0;
    // SAFETY: the pointer is good for writing.
    assert_eq!((unsafe { mdb_dbi_flags(txn, dbi, &mut flags) }, flags), (0, DUPSORT | REVERSEKEY));
    assert_eq!(dbi_open(txn, Some("u"), 0x8000), Err(libc::EINVAL));
    mdb_txn_abort(txn);
}

#[test]
fn drop_empties_and_deletes() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    let c = cursor(txn, dbi);
    assert!(go(c, FIRST).is_ok());
    assert_eq!(mdb_drop(txn, dbi, 0), 0);
    assert_eq!(go(c, GET_CURRENT), Err(libc::EINVAL));
    assert_eq!(get(txn, dbi, b"k"), Err(NOTFOUND));
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    assert_eq!(mdb_txn_commit(txn), 0);
    let txn = env.begin();
    assert_eq!(mdb_drop(txn, dbi, 1), 0);
    assert_eq!(get(txn, dbi, b"k"), Err(libc::EINVAL), "the handle is closed");
    mdb_txn_abort(txn);
    let txn = env.begin();
    assert_eq!(get(txn, dbi, b"k"), Err(libc::EINVAL), "and stays closed");
    let dbi = dbi_open(txn, Some("t"), 0).unwrap();
    assert_eq!(get(txn, dbi, b"k"), Ok(b"v".to_vec()), "the database is there again");
    let main = dbi_open(txn, None, 0).unwrap();
    assert_eq!(mdb_drop(txn, main, 0), 0);
    assert_eq!(stat(txn, main).unwrap().ms_entries, 0);
    mdb_txn_abort(txn);
}

#[test]
fn a_full_map_fails_the_transaction_and_a_larger_one_takes_it() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    assert_eq!(mdb_env_set_mapsize(env.env, 1 << 20), 0);
    let fill = |bytes: usize| {
        let txn = env.begin();
        let value = vec![7u8; 4000];
        let code = (0..bytes / 4000)
            .map(|n| put(txn, dbi, &(n as u32).to_be_bytes(), &value, 0))
            .find(|&code| code != 0);
        match code {
            Some(code) => {
                assert_eq!((code, mdb_txn_commit(txn)), (MAP_FULL, BAD_TXN), "all of it is lost");
                code
            }
            None => mdb_txn_commit(txn),
        }
    };
    assert_eq!(fill(900 << 10), 0, "what fits into LMDB's map fits");
    assert_eq!(fill(4 << 20), MAP_FULL);
    let txn = env.begin();
    assert_eq!(mdb_env_set_mapsize(env.env, 16 << 20), libc::EINVAL, "a transaction writes");
    mdb_txn_abort(txn);
    assert_eq!(mdb_env_set_mapsize(env.env, 16 << 20), 0);
    assert_eq!(env.info().me_mapsize, 16 << 20);
    assert_eq!(fill(4 << 20), 0);
    assert_eq!(mdb_env_set_mapsize(env.env, 64 << 30), 0);
    assert_eq!(fill(8 << 20), 0);
    assert_eq!(mdb_env_set_mapsize(env.env, 1 << 46), libc::ENOMEM, "no address space for it");
    assert_eq!(fill(8 << 20), 0);
}

#[test]
fn a_map_size_of_next_to_nothing_has_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let env = create();
    assert_eq!(mdb_env_set_mapsize(env, 10), 0);
    assert_eq!(open_at(env, dir.path(), 0), 0);
    let env = Env { env, dir: Some(dir) };
    let txn = env.begin();
    let main = dbi_open(txn, None, 0).unwrap();
    assert_eq!(put(txn, main, b"a", b"a", 0), MAP_FULL);
    mdb_txn_abort(txn);
}

#[test]
fn copies_are_environments() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    assert_eq!(mdb_txn_commit(txn), 0);
    for flags in [0, 1] {
        let dir = tempfile::tempdir().unwrap();
        let path = std::ffi::CString::new(dir.path().to_str().unwrap()).unwrap();
        // SAFETY: a text that ends with a zero byte.
        assert_eq!(unsafe { mdb_env_copy2(env.env, path.as_ptr(), flags) }, 0);
        // SAFETY: as before.
        assert_eq!(unsafe { mdb_env_copy2(env.env, path.as_ptr(), flags) }, libc::EEXIST);
        let copy = Env::at(dir.path(), 0);
        let reader = copy.read();
        let dbi = dbi_open(reader, Some("t"), 0).unwrap();
        assert_eq!(get(reader, dbi, b"k"), Ok(b"v".to_vec()));
        mdb_txn_abort(reader);
        let (mut from, to) = std::io::pipe().unwrap();
        let received = std::thread::spawn(move || {
            let mut all = Vec::new();
            std::io::Read::read_to_end(&mut from, &mut all).map(|_| all).unwrap()
        });
        use std::os::fd::AsRawFd;
        assert_eq!(mdb_env_copyfd2(env.env, to.as_raw_fd(), flags), 0);
        drop(to);
        assert!(received.join().unwrap().len() >= 4 * 4096);
    }
    assert_eq!(mdb_env_copyfd(env.env, -1), libc::EBADF);
}

#[test]
fn readers_are_listed() {
    extern "C" fn each(line: *const libc::c_char, lines: *mut libc::c_void) -> i32 {
        // SAFETY: it is called with a text, and with what the test gave.
        unsafe {
            let text = std::ffi::CStr::from_ptr(line).to_str().unwrap().to_owned();
            (*lines.cast::<Vec<String>>()).push(text);
        }
        0
    }
    let env = Env::new();
    let list = || {
        let mut lines: Vec<String> = Vec::new();
        // SAFETY: the function expects such a list.
        assert_eq!(unsafe { mdb_reader_list(env.env, Some(each), (&raw mut lines).cast()) }, 0);
        lines
    };
    assert_eq!(list(), ["(no active readers)\n"]);
    let reader = env.read();
    let lines = list();
    assert_eq!(lines[0], "    pid     thread     txnid\n");
    let fields: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!((fields[0], fields[2]), (&*std::process::id().to_string(), "0"));
    let mut dead = -1;
    // SAFETY: the pointer is good for writing.
    assert_eq!((unsafe { mdb_reader_check(env.env, &mut dead) }, dead), (0, 0));
    mdb_txn_abort(reader);
    assert_eq!(env.info().me_numreaders, 1, "as many as there were at most");
}

#[test]
fn writers_wait_for_each_other() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    assert_eq!(env.begin_as(ptr::null_mut(), 0), Err(libc::EDEADLK), "it would wait for itself");
    let address = env.env as usize;
    let other = std::thread::spawn(move || {
        let mut txn = ptr::null_mut();
        // SAFETY: the pointer is good for writing.
        unsafe { mdb_txn_begin(address as *mut MDB_env, ptr::null_mut(), 0, &mut txn) };
        let found = get(txn, dbi, b"k");
        mdb_txn_abort(txn);
        found
    });
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    assert_eq!(mdb_txn_commit(txn), 0);
    assert_eq!(other.join().unwrap(), Ok(b"v".to_vec()));
}

#[test]
#[cfg(target_os = "linux")]
fn the_system_reads_ahead_unless_it_is_told_not_to() {
    let is_read_alone = |env: &Env| huon_testkit::maps::is_read_alone(&env.path().join("data.mdb"));
    assert!(!is_read_alone(&Env::new()));
    assert!(is_read_alone(&Env::with(NORDAHEAD)));
}
