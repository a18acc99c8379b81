//! Children made by `fork`, which share everything that the parent had open.
//!
//! LMDB and libmdbx (2016 to 2025) let a forked child that ended, or closed what it had inherited,
//! take the parent's readers, its writer lock and once the file's contents with it. Here the parent
//! has each kind of thing open, the child does each thing that a child may do, and then the parent
//! goes on.

use std::time::Duration;

use huon::{Bytes, Durability, Env, Error, Parked, ReadTxn, Table, Ticket, WriteTxn};
use huon_testkit::figures;

use super::child::{self, Child};
use super::{Model, Place, assert_clean, assert_holds, assert_same, def, small};

/// What the parent has open besides the environment.
enum Held {
    Nothing,
    Reader(ReadTxn, Table<Bytes, Bytes>),
    Parked(Parked),
    Writer(Changed),
    SpilledWriter(Changed),
    Ticket(Ticket),
}

type Hold = (&'static str, fn(&Env) -> Held);

const HOLDS: [Hold; 7] = [
    ("nothing", |_| Held::Nothing),
    ("a reader", |env| {
        let txn = env.read().unwrap();
        let t = txn.open_table(&def()).unwrap().unwrap();
        Held::Reader(txn, t)
    }),
    ("a parked reader", |env| Held::Parked(env.read().unwrap().park().unwrap())),
    ("a writer", |env| Held::Writer(changed(env, 3))),
    ("a writer that edits in the file", |env| {
        // Pages that lazy commits have taken and given back: the next one's view shows them.
        for n in 0..6 {
            changed(env, n % 3).0.commit_with(Durability::Lazy).unwrap();
        }
        Held::Writer(changed(env, 3))
    }),
    ("a writer that has written", |env| Held::SpilledWriter(changed(env, 100))),
    ("a ticket", |env| Held::Ticket(changed(env, 3).0.commit_ticket().unwrap())),
];

/// A transaction with changes, and its handle.
type Changed = (WriteTxn, Table<Bytes, Bytes>);

fn changed(env: &Env, count: u8) -> Changed {
    let mut txn = env.write().unwrap();
    let t = txn.open_table(&def()).unwrap().unwrap();
    (0..count).for_each(|n| t.put(&mut txn, &[200, n], &[n; 90]).map(drop).unwrap());
    (txn, t)
}

/// What a child does; 0 if all was as it should be.
type Deed = (&'static str, fn(&std::path::Path, Env, Held) -> i32);

const DEEDS: [Deed; 7] = [
    ("leaves at once", |_, env, held| {
        std::mem::forget((env, held));
        0
    }),
    ("ends as programs do", |_, env, held| {
        drop((env, held));
        // SAFETY: ends this process, with what the C library does then.
        unsafe { libc::exit(0) }
    }),
    ("drops all it has", |_, env, held| {
        drop(held);
        drop(env);
        0
    }),
    ("uses all it has", |_, env, held| {
        let free = is_free(&held);
        i32::from(!works(&env, free)) + i32::from(!is_dead(held))
    }),
    ("opens the file anew", |path, env, held| {
        let free = is_free(&held);
        let anew = small().open(path).is_ok_and(|anew| works(&anew, free));
        i32::from(!is_dead(held)) + i32::from(!anew) + i32::from(!works(&env, free))
    }),
    ("forks again before it has used it", |_, env, held| forks_again(&env, held)),
    ("forks again", |_, env, held| {
        i32::from(!works(&env, is_free(&held))) + forks_again(&env, held)
    }),
];

/// The child of a child does the same, in the middle of a read transaction of its parent.
fn forks_again(env: &Env, held: Held) -> i32 {
    let free = is_free(&held);
    let between = env.read().unwrap();
    // SAFETY: the grandchild only calls this library and leaves without unwinding.
    match unsafe { libc::fork() } {
        0 => {
            let dead = matches!(between.open_table(&def()), Err(Error::Forked));
            let good = dead && is_dead(held) && works(env, free);
            // SAFETY: leaves at once.
            unsafe { libc::_exit(i32::from(!good)) }
        }
        pid => {
            let good = between.open_table(&def()).is_ok_and(|t| t.is_some()) && works(env, free);
            ended_well(pid).map_or(1, i32::from) + i32::from(!good)
        }
    }
}

/// Whether no writer is at work.
fn is_free(held: &Held) -> bool {
    !matches!(held, Held::Writer(_) | Held::SpilledWriter(_))
}

/// What was open at the fork says so at each use.
fn is_dead(held: Held) -> bool {
    let forked = |error: Option<Error>| matches!(error, Some(Error::Forked));
    match held {
        Held::Nothing => true,
        Held::Reader(mut txn, t) => {
            forked(txn.open_table(&def()).err())
                && forked(t.get(&txn, &[1]).err())
                && forked(t.iter(&txn).err())
                && forked(t.cursor().next(&txn).err())
                && forked(txn.table_names().err())
                && forked(txn.renew().err())
                && forked(txn.park().err())
        }
        Held::Parked(parked) => forked(parked.unpark().err()),
        Held::Writer((mut txn, t)) | Held::SpilledWriter((mut txn, t)) => {
            forked(txn.open_table(&def()).err())
                && forked(txn.create_table(&def()).err())
                && forked(t.get(&txn, &[1]).err())
                && forked(t.put(&mut txn, &[200, 1], &[]).err())
                && forked(txn.savepoint("s").err())
                && forked(txn.nested(|_| Ok(())).err())
                && forked(txn.commit().err())
        }
        Held::Ticket(ticket) => {
            !ticket.is_durable()
                && forked(ticket.wait().err())
                && forked(ticket.wait_within(Duration::ZERO).err())
        }
    }
}

/// The environment works, inherited or not; `free`: no writer is at work.
fn works(env: &Env, free: bool) -> bool {
    let read = env.view(|txn| {
        let t = txn.open_table(&def())?.ok_or(Error::TableNotFound)?;
        let all = (0..150u8).map(|n| Ok(t.get(txn, &[n])? == Some(&[n; 70][..])));
        all.collect::<Result<Vec<_>, Error>>()
    });
    let written = env.write_within(Duration::from_millis(20)).and_then(|mut txn| {
        let t = txn.create_table(&def())?;
        t.put(&mut txn, b"from a child", b"")?;
        txn.commit_with(Durability::Durable)
    });
    let as_expected = match written {
        Ok(_) => env.sync().is_ok() && env.check().is_ok_and(|check| check.is_clean()),
        Err(Error::Busy(_)) => !free,
        Err(_) => false,
    };
    let known = env.info().is_ok() && env.attach().is_ok() && env.flush_if_due().is_ok();
    read.is_ok_and(|read| read.iter().all(|same| *same)) && as_expected && known
}

/// How a child ended: `None` if it did not end by itself, and whether it complained.
fn ended_well(pid: i32) -> Option<bool> {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    let waited = unsafe { libc::waitpid(pid, &mut status, 0) };
    (waited == pid && libc::WIFEXITED(status)).then(|| libc::WEXITSTATUS(status) != 0)
}

#[test]
fn a_forked_child_takes_nothing_with_it() {
    let name = "forks::a_forked_child_takes_nothing_with_it";
    if child::part().is_some() {
        return every_hold_and_deed(&child::path());
    }
    // In a process of its own, so that no other test's thread is in the middle of something.
    let place = Place::new();
    let mut child = Child::start(name, "fork", place.dir());
    assert_eq!(child.hear(), format!("{} combinations", HOLDS.len() * DEEDS.len() * 2));
    child.finish();
    figures::add("exhaustive", (HOLDS.len() * DEEDS.len() * 2) as u64);
}

fn every_hold_and_deed(dir: &std::path::Path) {
    let mut count = 0;
    for (held_name, hold) in HOLDS {
        for (deed_name, deed) in DEEDS {
            // The child ends, or is still there when the parent goes on.
            for lives_on in [false, true] {
                let what = format!("{held_name}, {deed_name}, lives on: {lives_on}");
                one_fork(&dir.join(format!("{count}.huon")), hold, deed, lives_on, &what);
                count += 1;
            }
        }
    }
    child::say(&format!("{count} combinations"));
}

fn one_fork(
    path: &std::path::Path,
    hold: fn(&Env) -> Held,
    deed: fn(&std::path::Path, Env, Held) -> i32,
    lives_on: bool,
    what: &str,
) {
    let env = small().open(path).unwrap();
    let other = small().open(path).unwrap();
    let (mut txn, mut model) = (env.write().unwrap(), Model::new());
    let t = txn.create_table(&def()).unwrap();
    (0..150).for_each(|n| super::put(&mut txn, t, &mut model, &[n], &[n; 70]));
    txn.commit_with(Durability::Durable).unwrap();
    let held = hold(&env);
    let mut pipe = [0; 2];
    // SAFETY: the array has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    // SAFETY: the child calls this library and leaves without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let result = deed(path, env, held);
        if lives_on && result == 0 {
            // SAFETY: says so, and sleeps until it is killed.
            unsafe {
                libc::write(pipe[1], [1u8].as_ptr().cast(), 1);
                libc::pause();
            }
        }
        // SAFETY: leaves at once.
        unsafe { libc::_exit(result) };
    }
    // SAFETY: closes the end that the child writes to.
    unsafe { libc::close(pipe[1]) };
    let exited = if lives_on {
        // SAFETY: a byte of room; 0 if the child ended without a word.
        unsafe { libc::read(pipe[0], [0u8].as_mut_ptr().cast(), 1) == 1 }
    } else {
        false
    };
    if !exited {
        assert_eq!(ended_well(pid), Some(false), "{what}");
    }
    // SAFETY: closes what is left of the pipe.
    unsafe { libc::close(pipe[0]) };
    go_on(&env, &other, held, &mut model, what);
    if exited {
        // SAFETY: ends the child, which this test has made, and waits for it.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, &mut 0, 0);
        }
    }
    drop((env, other));
    let env = small().open(path).unwrap();
    assert_clean(&env, what);
    if env
        .read()
        .unwrap()
        .open_table(&def())
        .unwrap()
        .is_some_and(|t| t.contains(&env.read().unwrap(), b"from a child").unwrap())
    {
        model.insert(b"from a child".to_vec(), Vec::new());
    }
    assert_holds(&env, &model, what);
}

/// The parent has all that it had, and so has another client.
fn go_on(env: &Env, other: &Env, held: Held, model: &mut Model, what: &str) {
    let changes = |model: &mut Model, count: u8| {
        model.extend((0..count).map(|n| (vec![200, n], vec![n; 90])));
    };
    match held {
        Held::Nothing => {}
        Held::Parked(parked) => {
            let txn = parked.unpark().unwrap();
            let t = txn.open_table(&def()).unwrap().unwrap();
            assert_eq!(t.get(&txn, &[7]).unwrap(), Some(&[7; 70][..]), "{what}");
        }
        Held::Reader(txn, t) => {
            for round in 0..20 {
                other.update(|txn| churn(txn, round)).unwrap();
            }
            assert_same(&txn, t, model, what);
            let readers = env.info().unwrap().readers;
            assert!(readers.iter().any(|reader| reader.txnid == txn.id()), "{what}");
        }
        Held::Writer((txn, _)) => {
            let busy = other.write_within(Duration::from_millis(5)).map(drop);
            assert!(matches!(busy, Err(Error::Busy(_))), "{what}: {busy:?}");
            txn.commit().unwrap();
            changes(model, 3);
        }
        Held::SpilledWriter((mut txn, t)) => {
            super::put(&mut txn, t, model, &[201], &[1; 2000]);
            txn.commit().unwrap();
            changes(model, 100);
        }
        Held::Ticket(ticket) => {
            ticket.wait().unwrap();
            assert!(ticket.is_durable(), "{what}");
            changes(model, 3);
        }
    }
    for env in [env, other] {
        let mut txn = env.write().unwrap();
        let t = txn.open_table(&def()).unwrap().unwrap();
        let n = model.len() as u8;
        super::put(&mut txn, t, model, &[202, n], &[n; 40]);
        txn.commit_with(Durability::Durable).unwrap();
        assert_clean(env, what);
    }
}

/// Changes pages, and leaves the records as they were.
fn churn(txn: &mut WriteTxn, round: u8) -> huon::Result<()> {
    let t = txn.open_table(&def())?.ok_or(Error::TableNotFound)?;
    for n in 0..150 {
        t.put(txn, &[n], &[round; 70])?;
    }
    (0..150).try_for_each(|n| t.put(txn, &[n], &[n; 70]).map(drop))
}
