//! The calls of a history.

use std::fmt;

use super::names::{go, kind, put};

/// A slot of a transaction, or of a cursor.
pub type Slot = usize;
/// So many transactions there are at once.
pub const TXNS: usize = 8;
/// So many cursors.
pub const CURSORS: usize = 8;

/// A call.
#[derive(Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Op {
    /// Ends everything, closes the environment, and opens it with other flags.
    Reopen {
        flags: u32,
    },
    SetFlags {
        flags: u32,
        on: bool,
    },
    GetFlags,
    Sync {
        force: bool,
    },
    /// Settings that are refused once the environment is open.
    TooLate,
    /// The number of records of the main table, as committed.
    EnvCount,
    CheckReaders,
    /// Copies the environment, and counts the records of the copy's main table.
    Copy {
        compact: bool,
    },
    Begin {
        txn: Slot,
        parent: Option<Slot>,
        flags: u32,
        /// In another thread.
        elsewhere: bool,
    },
    Commit {
        txn: Slot,
    },
    Abort {
        txn: Slot,
    },
    Reset {
        txn: Slot,
    },
    Renew {
        txn: Slot,
        elsewhere: bool,
    },
    /// Lets it end in an abort only.
    Break {
        txn: Slot,
    },
    /// What has become of it.
    TxnFlags {
        txn: Slot,
    },
    PutCanary {
        txn: Slot,
        canary: [u64; 3],
    },
    GetCanary {
        txn: Slot,
    },
    TxnId {
        txn: Slot,
    },
    /// Opens a table, and says how it is ordered if the program does that.
    Open {
        txn: Slot,
        name: Option<Vec<u8>>,
        flags: u32,
        custom: bool,
    },
    Close {
        dbi: u32,
    },
    Drop {
        txn: Slot,
        dbi: u32,
        delete: i32,
    },
    Rename {
        txn: Slot,
        dbi: u32,
        name: Vec<u8>,
    },
    Sequence {
        txn: Slot,
        dbi: u32,
        add: u64,
    },
    Count {
        txn: Slot,
        dbi: u32,
    },
    Flags {
        txn: Slot,
        dbi: u32,
    },
    Compare {
        txn: Slot,
        dbi: u32,
        a: Vec<u8>,
        b: Vec<u8>,
        of_values: bool,
    },
    Get {
        txn: Slot,
        dbi: u32,
        key: Vec<u8>,
    },
    /// A key, and how many values it has.
    GetCounted {
        txn: Slot,
        dbi: u32,
        key: Vec<u8>,
    },
    /// The first record that is not below.
    GetNear {
        txn: Slot,
        dbi: u32,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Put {
        txn: Slot,
        dbi: u32,
        key: Vec<u8>,
        value: Vec<u8>,
        flags: u32,
    },
    /// Several values at once.
    PutMany {
        txn: Slot,
        dbi: u32,
        key: Vec<u8>,
        values: Vec<Vec<u8>>,
        flags: u32,
    },
    /// Another value, or none, for the one that is there, or for `old`, if the flags say that.
    Replace {
        txn: Slot,
        dbi: u32,
        key: Vec<u8>,
        old: Vec<u8>,
        new: Option<Vec<u8>>,
        flags: u32,
    },
    Del {
        txn: Slot,
        dbi: u32,
        key: Vec<u8>,
        value: Option<Vec<u8>>,
    },
    /// Many records at once, to have pages split and merged.
    Many {
        txn: Slot,
        dbi: u32,
        pairs: Vec<(Vec<u8>, Vec<u8>)>,
        delete: bool,
    },
    CursorOpen {
        txn: Slot,
        dbi: u32,
        cursor: Slot,
    },
    CursorClose {
        cursor: Slot,
    },
    CursorRenew {
        txn: Slot,
        cursor: Slot,
    },
    /// Makes it one of that table and transaction, whatever it was.
    CursorBind {
        txn: Slot,
        dbi: u32,
        cursor: Slot,
    },
    CursorUnbind {
        cursor: Slot,
    },
    CursorReset {
        cursor: Slot,
    },
    CursorCopy {
        from: Slot,
        to: Slot,
    },
    /// Whether it stands at an end of the table or of a key.
    CursorIs {
        cursor: Slot,
        at: End,
    },
    /// Which transaction and table it is of.
    CursorOf {
        cursor: Slot,
    },
    CursorGet {
        cursor: Slot,
        op: u32,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    CursorPut {
        cursor: Slot,
        key: Vec<u8>,
        value: Vec<u8>,
        flags: u32,
    },
    CursorPutMany {
        cursor: Slot,
        key: Vec<u8>,
        values: Vec<Vec<u8>>,
        flags: u32,
    },
    CursorDel {
        cursor: Slot,
        flags: u32,
    },
    CursorCount {
        cursor: Slot,
    },
}

/// Where a cursor may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum End {
    Eof,
    First,
    Last,
    FirstDup,
    LastDup,
}

/// What a call answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// 0, or an error.
    pub code: i32,
    /// The key that was shown.
    pub key: Option<Vec<u8>>,
    /// The value that was shown.
    pub value: Option<Vec<u8>>,
    /// A count, a handle, flags.
    pub number: Option<i64>,
}

impl Outcome {
    /// Nothing but a code.
    pub fn code(code: i32) -> Outcome {
        Outcome { code, ..Outcome::default() }
    }

    /// Success, with a number.
    pub fn number(number: i64) -> Outcome {
        Outcome { number: Some(number), ..Outcome::default() }
    }

    /// A code; with a number if it is success.
    pub fn with_number(code: i32, number: i64) -> Outcome {
        match code {
            0 => Outcome::number(number),
            code => Outcome::code(code),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = super::names::code::EACH.iter().find(|(code, _)| *code == self.code);
        match name {
            Some((_, name)) => write!(f, "{name}")?,
            None => write!(f, "code {}", self.code)?,
        }
        if let Some(key) = &self.key {
            write!(f, " key {}", Bytes(key))?;
        }
        if let Some(value) = &self.value {
            write!(f, " value {}", Bytes(value))?;
        }
        self.number.map_or(Ok(()), |number| write!(f, " {number}"))
    }
}

/// Bytes as a person reads them: long rows of the same byte are counted.
pub struct Bytes<'b>(pub &'b [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for part in self.0.chunk_by(|a, b| a == b) {
            let byte = part[0].escape_ascii();
            match part.len() {
                count @ 0..5 => (0..count).try_for_each(|_| write!(f, "{byte}"))?,
                count => write!(f, "{byte}*{count} ")?,
            }
        }
        f.write_str("\"")
    }
}

/// Several values of one length, and flags.
struct Several<'v>(&'v [Vec<u8>], u32);

impl fmt::Display for Several<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        self.0.iter().take(8).try_for_each(|value| write!(f, "{} ", Bytes(value)))?;
        write!(f, "of {}], {}", self.0.len(), put_flags(self.1 | put::MULTIPLE))
    }
}

fn in_thread(elsewhere: bool) -> &'static str {
    if elsewhere { " elsewhere" } else { "" }
}

fn put_flags(flags: u32) -> String {
    let known = put::EACH.iter().filter(|(flag, _)| flags & flag != 0);
    let mut text: Vec<String> = known.map(|(_, name)| (*name).to_string()).collect();
    let rest = put::EACH.iter().fold(flags, |rest, (flag, _)| rest & !flag);
    if rest != 0 || text.is_empty() {
        text.push(format!("{rest:#x}"));
    }
    text.join("|")
}

fn go_name(op: u32) -> String {
    go::NAMES.get(op as usize).map_or_else(|| op.to_string(), |name| (*name).to_string())
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Reopen { flags } => write!(f, "reopen({flags:#x})"),
            Op::SetFlags { flags, on } => write!(f, "env_set_flags({flags:#x}, {on})"),
            Op::GetFlags => write!(f, "env_get_flags()"),
            Op::Sync { force } => write!(f, "env_sync({force})"),
            Op::TooLate => write!(f, "env_set_maxdbs(), env_set_maxreaders()"),
            Op::EnvCount => write!(f, "env_stat()"),
            Op::CheckReaders => write!(f, "reader_check()"),
            Op::Copy { compact } => write!(f, "env_copy2(compact {compact})"),
            Op::Begin { txn, parent: Some(parent), flags, .. } => {
                write!(f, "t{txn} = txn_begin(parent t{parent}, {flags:#x})")
            }
            Op::Begin { txn, flags, elsewhere, .. } => {
                write!(f, "t{txn} = txn_begin({flags:#x}){}", in_thread(*elsewhere))
            }
            Op::Commit { txn } => write!(f, "txn_commit(t{txn})"),
            Op::Abort { txn } => write!(f, "txn_abort(t{txn})"),
            Op::Reset { txn } => write!(f, "txn_reset(t{txn})"),
            Op::Renew { txn, elsewhere } => {
                write!(f, "txn_renew(t{txn}){}", in_thread(*elsewhere))
            }
            Op::Break { txn } => write!(f, "txn_break(t{txn})"),
            Op::TxnFlags { txn } => write!(f, "txn_flags(t{txn})"),
            Op::PutCanary { txn, canary } => write!(f, "canary_put(t{txn}, {canary:?})"),
            Op::GetCanary { txn } => write!(f, "canary_get(t{txn})"),
            Op::TxnId { txn } => write!(f, "txn_id(t{txn})"),
            op => op.show_table(f),
        }
    }
}

impl Op {
    fn show_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Open { txn, name, flags, custom } => {
                let create = if flags & kind::CREATE != 0 { "CREATE|" } else { "" };
                let custom = if *custom { ", then its own order" } else { "" };
                let name = name.as_ref().map_or("main".into(), |name| Bytes(name).to_string());
                let rest = flags & !kind::CREATE;
                write!(f, "dbi_open(t{txn}, {name}, {create}{rest:#x}){custom}")
            }
            Op::Close { dbi } => write!(f, "dbi_close({dbi})"),
            Op::Drop { txn, dbi, delete } => write!(f, "drop(t{txn}, {dbi}, {delete})"),
            Op::Rename { txn, dbi, name } => {
                write!(f, "dbi_rename(t{txn}, {dbi}, {})", Bytes(name))
            }
            Op::Sequence { txn, dbi, add } => write!(f, "dbi_sequence(t{txn}, {dbi}, {add})"),
            Op::Count { txn, dbi } => write!(f, "stat(t{txn}, {dbi})"),
            Op::Flags { txn, dbi } => write!(f, "dbi_flags(t{txn}, {dbi})"),
            Op::Compare { txn, dbi, a, b, of_values } => {
                let name = if *of_values { "dcmp" } else { "cmp" };
                write!(f, "{name}(t{txn}, {dbi}, {}, {})", Bytes(a), Bytes(b))
            }
            op => op.show_record(f),
        }
    }

    fn show_record(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Get { txn, dbi, key } => write!(f, "get(t{txn}, {dbi}, {})", Bytes(key)),
            Op::GetCounted { txn, dbi, key } => {
                write!(f, "get_ex(t{txn}, {dbi}, {})", Bytes(key))
            }
            Op::GetNear { txn, dbi, key, value } => {
                write!(f, "get_equal_or_great(t{txn}, {dbi}, {}, {})", Bytes(key), Bytes(value))
            }
            Op::PutMany { txn, dbi, key, values, flags } => {
                write!(f, "put(t{txn}, {dbi}, {}, {})", Bytes(key), Several(values, *flags))
            }
            Op::Replace { txn, dbi, key, old, new, flags } => {
                write!(f, "replace(t{txn}, {dbi}, {}, ", Bytes(key))?;
                match new {
                    Some(new) => write!(f, "{}", Bytes(new))?,
                    None => write!(f, "nothing")?,
                }
                write!(f, ", for {}, {})", Bytes(old), put_flags(*flags))
            }
            Op::Put { txn, dbi, key, value, flags } => {
                let flags = put_flags(*flags);
                write!(f, "put(t{txn}, {dbi}, {}, {}, {flags})", Bytes(key), Bytes(value))
            }
            Op::Del { txn, dbi, key, value: None } => {
                write!(f, "del(t{txn}, {dbi}, {})", Bytes(key))
            }
            Op::Del { txn, dbi, key, value: Some(value) } => {
                write!(f, "del(t{txn}, {dbi}, {}, {})", Bytes(key), Bytes(value))
            }
            Op::Many { txn, dbi, pairs, delete } => {
                let name = if *delete { "del" } else { "put" };
                write!(f, "{name}(t{txn}, {dbi}) of {} records", pairs.len())?;
                pairs
                    .iter()
                    .take(3)
                    .try_for_each(|(key, value)| write!(f, " {} {}", Bytes(key), Bytes(value)))
            }
            op => op.show_cursor(f),
        }
    }

    fn show_cursor(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::CursorOpen { txn, dbi, cursor } => {
                write!(f, "c{cursor} = cursor_open(t{txn}, {dbi})")
            }
            Op::CursorClose { cursor } => write!(f, "cursor_close(c{cursor})"),
            Op::CursorRenew { txn, cursor } => write!(f, "cursor_renew(t{txn}, c{cursor})"),
            Op::CursorBind { txn, dbi, cursor } => {
                write!(f, "cursor_bind(t{txn}, c{cursor}, {dbi})")
            }
            Op::CursorUnbind { cursor } => write!(f, "cursor_unbind(c{cursor})"),
            Op::CursorReset { cursor } => write!(f, "cursor_reset(c{cursor})"),
            Op::CursorCopy { from, to } => write!(f, "cursor_copy(c{from}, c{to})"),
            Op::CursorIs { cursor, at } => write!(f, "cursor_is_{at:?}(c{cursor})"),
            Op::CursorOf { cursor } => write!(f, "cursor_txn(c{cursor}), cursor_dbi(c{cursor})"),
            Op::CursorGet { cursor, op, key, value } => {
                let op = go_name(*op);
                write!(f, "cursor_get(c{cursor}, {}, {}, {op})", Bytes(key), Bytes(value))
            }
            Op::CursorPut { cursor, key, value, flags } => {
                let flags = put_flags(*flags);
                write!(f, "cursor_put(c{cursor}, {}, {}, {flags})", Bytes(key), Bytes(value))
            }
            Op::CursorPutMany { cursor, key, values, flags } => {
                write!(f, "cursor_put(c{cursor}, {}, {})", Bytes(key), Several(values, *flags))
            }
            Op::CursorDel { cursor, flags } => {
                write!(f, "cursor_del(c{cursor}, {})", put_flags(*flags))
            }
            Op::CursorCount { cursor } => write!(f, "cursor_count(c{cursor})"),
            _ => Ok(()),
        }
    }
}
