//! Steps as calls of the interface in C.

use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::path::Path;
use std::ptr;

use serde_json::{Value, json};

use super::model::maybe;
use super::step::{Answer, Blob, Kind, Op, Step};
use crate::common::*;

/// A transaction of a case, or one that is nested in it: a savepoint of its name.
struct Begun {
    txn: Txn,
    nested: bool,
    has_ended: bool,
}

pub(super) struct Calls {
    env: *mut huon_env,
    path: CString,
    txns: BTreeMap<String, Begun>,
}

/// What comes of a call that only succeeds or fails.
type Done = Result<(), c_int>;

fn done(code: c_int) -> Done {
    if code == HUON_OK { Ok(()) } else { Err(code) }
}

/// Whether it was there, or was done.
fn whether(code: c_int) -> Result<Value, c_int> {
    match code {
        HUON_OK => Ok(json!(true)),
        HUON_NOT_FOUND | HUON_EXISTS => Ok(json!(false)),
        code => Err(code),
    }
}

/// An answer that may be none.
fn or_null<T>(found: Result<T, c_int>, show: impl FnOnce(T) -> Value) -> Result<Value, c_int> {
    match found {
        Err(HUON_NOT_FOUND) => Ok(Value::Null),
        found => found.map(show),
    }
}

fn shown(bytes: huon_bytes<'_>) -> Value {
    maybe(seen(bytes).as_deref())
}

fn pair(pair: huon_pair<'_>) -> Value {
    json!([shown(pair.key), shown(pair.value)])
}

/// The name of an error, as all languages have it.
fn name(code: c_int) -> &'static str {
    match code {
        HUON_KEY_TOO_LONG => "KeyTooLong",
        HUON_SORTED_VALUE_TOO_LONG => "SortedValueTooLong",
        HUON_TABLE_NOT_FOUND => "TableNotFound",
        HUON_TABLE_KIND => "TableKind",
        HUON_READ_ONLY => "ReadOnly",
        HUON_BUSY | HUON_THREAD_WRITES | HUON_TIMED_OUT => "Busy",
        HUON_BAD_HANDLE | HUON_BAD_TXN | HUON_IN_USE => "Misuse",
        code => panic!("{code}: {}", message()),
    }
}

/// A table of either kind.
enum Opened {
    Bytes(huon_table),
    Multi(huon_multi),
}

impl Calls {
    pub(super) fn new(path: &Path, durability: c_int) -> Calls {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        let env = Calls::open(&path, false);
        ok(huon_set(env, HUON_DURABILITY, durability as u64));
        Calls { env, path, txns: BTreeMap::new() }
    }

    fn open(path: &CString, is_read_only: bool) -> *mut huon_env {
        let options = get(|options| huon_options_new(options)).unwrap();
        ok(huon_options_set(options, HUON_OPEN_READ_ONLY, u64::from(is_read_only)));
        // SAFETY: the path ends with a zero byte.
        let env = get(|env| unsafe { huon_open(path.as_ptr(), options, env) });
        ok(huon_options_free(options));
        env.unwrap_or_else(|_| panic!("{}", message()))
    }

    pub(super) fn close(self) {
        let is_open = |begun: &&Begun| !begun.has_ended && !begun.nested;
        self.txns.values().filter(is_open).for_each(|begun| ok(huon_abort(begun.txn)));
        ok(huon_close(self.env));
    }

    pub(super) fn run(&mut self, step: &Step) -> Answer {
        let come = match step.op {
            Op::Read => self.begin(step, get(|txn| huon_begin_read(self.env, txn))),
            Op::Write => self.begin(step, get(|txn| huon_begin_write(self.env, 1000, txn))),
            Op::TryWrite => self.begin(step, get(|txn| huon_begin_write(self.env, 0, txn))),
            Op::BeginNested => self.begin_nested(step),
            Op::Commit | Op::Abort => self.end(step),
            Op::Reopen => {
                ok(huon_close(self.env));
                self.env = Calls::open(&self.path, step.read_only);
                if !step.read_only {
                    ok(huon_set(self.env, HUON_DURABILITY, HUON_LAZY as u64));
                }
                Ok(())
            }
            _ => return self.in_txn(step).map_err(name),
        };
        come.map(|()| Value::Null).map_err(name)
    }

    fn begin(&mut self, step: &Step, txn: Result<Txn, c_int>) -> Done {
        let begun = Begun { txn: txn?, nested: false, has_ended: false };
        self.txns.insert(step.txn.clone(), begun);
        Ok(())
    }

    fn begin_nested(&mut self, step: &Step) -> Done {
        let txn = self.txns[&step.parent].txn;
        done(huon_savepoint(txn, of(&step.txn)))?;
        let begun = Begun { txn, nested: true, has_ended: false };
        self.txns.insert(step.txn.clone(), begun);
        Ok(())
    }

    fn end(&mut self, step: &Step) -> Done {
        let begun = self.txns.get_mut(&step.txn).unwrap();
        let was_ended = std::mem::replace(&mut begun.has_ended, true);
        match (step.op, begun.nested) {
            (_, true) if was_ended => Err(HUON_BAD_TXN),
            (Op::Commit, true) => done(huon_release(begun.txn, of(&step.txn))),
            (_, true) => {
                done(huon_roll_back_to(begun.txn, of(&step.txn)))?;
                done(huon_release(begun.txn, of(&step.txn)))
            }
            (Op::Commit, false) => done(huon_commit(begun.txn)),
            (_, false) => done(huon_abort(begun.txn)),
        }
    }

    fn in_txn(&self, step: &Step) -> Result<Value, c_int> {
        let begun = &self.txns[&step.txn];
        if begun.nested && begun.has_ended {
            return Err(HUON_BAD_TXN);
        }
        let (txn, table) = (begun.txn, &step.table);
        match step.op {
            Op::Tables => names(txn).map(|names| json!(names)),
            Op::HasTable => Ok(json!(names(txn)?.contains(table))),
            Op::Create if step.kind == Some(Kind::Multi) => multi(txn, table).map(|_| Value::Null),
            Op::Create => create(txn, table).map(|_| Value::Null),
            Op::Drop | Op::Clear | Op::Count => either(step.op, txn, table),
            Op::MultiPut
            | Op::MultiValues
            | Op::MultiDelete
            | Op::MultiDeleteAll
            | Op::MultiScan => with_multi(step, txn, open_multi(txn, table)?),
            _ => with_table(step, txn, open_table(txn, table)?),
        }
    }
}

fn names(txn: Txn) -> Result<Vec<String>, c_int> {
    let mut names = [huon_bytes::of(b""); 32];
    // SAFETY: there is room for so many.
    let count = get(|n| unsafe { huon_table_names(txn, names.as_mut_ptr(), names.len(), n) })?;
    Ok(names[..count].iter().map(|name| String::from_utf8(seen(*name).unwrap()).unwrap()).collect())
}

fn open_table(txn: Txn, name: &str) -> Result<huon_table, c_int> {
    // SAFETY: there are no options.
    get(|table| unsafe { huon_table_open(txn, of(name), ptr::null(), table) })
}

fn open_multi(txn: Txn, name: &str) -> Result<huon_multi, c_int> {
    // SAFETY: there are no options.
    get(|multi| unsafe { huon_multi_open(txn, of(name), ptr::null(), multi) })
}

/// What is asked of tables of both kinds.
fn either(op: Op, txn: Txn, name: &str) -> Result<Value, c_int> {
    let opened = match open_table(txn, name) {
        Err(HUON_TABLE_KIND) => Opened::Multi(open_multi(txn, name)?),
        table => Opened::Bytes(table?),
    };
    let code = match (op, opened) {
        (Op::Drop, Opened::Bytes(table)) => huon_table_drop(txn, table),
        (Op::Drop, Opened::Multi(multi)) => huon_multi_drop(txn, multi),
        (Op::Clear, Opened::Bytes(table)) => huon_table_clear(txn, table),
        (Op::Clear, Opened::Multi(multi)) => huon_multi_clear(txn, multi),
        (_, Opened::Bytes(table)) => {
            return get(|n| huon_count(txn, table, None, n)).map(Value::from);
        }
        (_, Opened::Multi(multi)) => {
            return get(|n| huon_multi_count(txn, multi, None, n)).map(Value::from);
        }
    };
    done(code).map(|()| Value::Null)
}

fn with_table(step: &Step, txn: Txn, table: huon_table) -> Result<Value, c_int> {
    let key = || of(step.key());
    let value = || of(step.value());
    match step.op {
        Op::Put => done(huon_put(txn, table, key(), value(), None)).map(|()| Value::Null),
        Op::Insert => whether(huon_put_if_absent(txn, table, key(), value())),
        Op::Get => or_null(get(|value| huon_get(txn, table, key(), value)), shown),
        Op::Has => whether(huon_get(txn, table, key(), None)),
        Op::Delete => whether(huon_remove(txn, table, key())),
        Op::PutMany => put_many(step, txn, table),
        Op::GetMany => get_many(step, txn, table),
        Op::DeleteRange => {
            get(|n| huon_remove_range(txn, table, Some(&range(step)), n)).map(Value::from)
        }
        Op::First => or_null(get(|pair| huon_first(txn, table, pair)), pair),
        Op::Last => or_null(get(|pair| huon_last(txn, table, pair)), pair),
        Op::Sequence => {
            get(|first| huon_sequence(txn, table, step.by.unwrap(), first)).map(Value::from)
        }
        _ => {
            let cursor = get(|c| huon_cursor_open(txn, table, Some(&range(step)), c))?;
            match step.op {
                Op::Scan => many(step, txn, cursor),
                _ => scan_and_change(step, txn, table, cursor),
            }
        }
    }
}

fn put_many(step: &Step, txn: Txn, table: huon_table) -> Result<Value, c_int> {
    let pairs = step.pairs.as_ref().unwrap();
    let pairs: Vec<huon_pair<'_>> =
        pairs.iter().map(|(key, value)| huon_pair::of(&key.0, &value.0)).collect();
    // SAFETY: they are so many.
    done(unsafe { huon_put_many(txn, table, pairs.as_ptr(), pairs.len(), None) })?;
    Ok(Value::Null)
}

fn get_many(step: &Step, txn: Txn, table: huon_table) -> Result<Value, c_int> {
    let keys: Vec<huon_bytes<'_>> =
        step.keys.iter().flatten().map(|key| huon_bytes::of(&key.0)).collect();
    let mut values = vec![huon_bytes::of(b""); keys.len()];
    let (from, to) = (keys.as_ptr(), values.as_mut_ptr());
    // SAFETY: there is room for so many.
    done(unsafe { huon_get_many(txn, table, from, keys.len(), to, None) })?;
    Ok(values.into_iter().map(shown).collect())
}

/// The range that a step names.
fn range(step: &Step) -> huon_range<'_> {
    fn bytes(blob: &Option<Blob>) -> huon_bytes<'_> {
        huon_bytes::of(blob.as_ref().map_or(&[], |blob| &blob.0[..]))
    }
    if step.prefix.is_some() {
        return huon_range { flags: HUON_PREFIX, from: bytes(&step.prefix), to: of("") };
    }
    let from = if step.from.is_some() { HUON_FROM } else { 0 };
    let to = if step.to.is_some() { HUON_BEFORE } else { 0 };
    huon_range { flags: from | to, from: bytes(&step.from), to: bytes(&step.to) }
}

/// What a cursor shows, some records a call.
fn many(step: &Step, txn: Txn, cursor: *mut huon_cursor) -> Result<Value, c_int> {
    let next = if step.reverse { huon_cursor_prev_many } else { huon_cursor_next_many };
    if step.reverse {
        ok(huon_cursor_to_end(cursor));
    }
    let mut found = Vec::new();
    let mut pairs = [huon_pair::of(b"", b""); 64];
    while found.len() < step.limit() {
        let capacity = pairs.len().min(step.limit() - found.len());
        // SAFETY: there is room for so many.
        match get(|count| unsafe { next(cursor, txn, pairs.as_mut_ptr(), capacity, count) }) {
            Ok(count) => found.extend(pairs[..count].iter().map(|shown| pair(*shown))),
            Err(HUON_NOT_FOUND) => break,
            Err(code) => return Err(code),
        }
    }
    ok(huon_cursor_close(cursor));
    Ok(found.into())
}

/// Changes each record that a cursor shows.
fn scan_and_change(
    step: &Step,
    txn: Txn,
    table: huon_table,
    cursor: *mut huon_cursor,
) -> Result<Value, c_int> {
    let next = if step.reverse { huon_cursor_prev } else { huon_cursor_next };
    if step.reverse {
        ok(huon_cursor_to_end(cursor));
    }
    let mut count = 0;
    while count < step.limit() {
        let pair = match get(|pair| next(cursor, txn, pair)) {
            Err(HUON_NOT_FOUND) => break,
            pair => pair?,
        };
        done(match step.op {
            Op::ScanPut => huon_put(txn, table, pair.key, of(step.value()), None),
            _ => huon_remove(txn, table, pair.key),
        })?;
        count += 1;
    }
    ok(huon_cursor_close(cursor));
    Ok(json!(count))
}

fn with_multi(step: &Step, txn: Txn, multi: huon_multi) -> Result<Value, c_int> {
    let key = || of(step.key());
    let value = || of(step.value());
    match step.op {
        Op::MultiPut => get(|new| huon_multi_put(txn, multi, key(), value(), new)).map(Value::from),
        Op::MultiDelete => whether(huon_multi_remove(txn, multi, key(), value())),
        Op::MultiDeleteAll => match get(|count| huon_multi_remove_key(txn, multi, key(), count)) {
            Err(HUON_NOT_FOUND) => Ok(json!(0)),
            count => count.map(Value::from),
        },
        Op::MultiValues => {
            let cursor = get(|cursor| huon_multi_values_open(txn, multi, key(), cursor))?;
            let pairs = many(step, txn, cursor)?;
            Ok(pairs.as_array().unwrap().iter().map(|pair| pair[1].clone()).collect())
        }
        _ => {
            let cursor = get(|c| huon_multi_cursor_open(txn, multi, Some(&range(step)), c))?;
            many(step, txn, cursor)
        }
    }
}
