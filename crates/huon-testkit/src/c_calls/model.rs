//! What each call must answer.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::data::Data;
use super::interface::Interface;
use super::names::code::*;
use super::names::env;
use super::op::{CURSORS, Op, Outcome, Slot, TXNS};
use super::place::Place;
use super::rows::Kind;

/// What the model says about a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It must answer so.
    Is(Outcome),
    /// The library that is compared answers otherwise, by the rule of this name; the call is left
    /// out.
    Left(&'static str),
    /// There is nothing to call it with.
    Void,
}

/// Why a call is left out.
pub(super) enum Stop {
    Void,
    Rule(&'static str),
}

pub(super) type Res<T> = Result<T, Stop>;

/// What holds for a whole history.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Whose calls they are.
    pub interface: Interface,
    /// Calls by which LMDB itself differs are left out.
    pub compared: bool,
    /// The patch of LMDB 0.9 that is compared.
    pub patch: u32,
    /// So many tables with names may be open at once.
    pub tables_max: u32,
    /// So many readers there may be.
    pub readers_max: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Live,
    Reset,
    Ended,
}

#[derive(Clone, Debug)]
pub(super) struct Txn {
    pub(super) uid: u64,
    pub(super) state: State,
    pub(super) writes: bool,
    pub(super) parent: Option<Slot>,
    pub(super) child: Option<Slot>,
    pub(super) failed: bool,
    pub(super) data: Data,
    /// The cursors of those that it is nested in, as they were when it began.
    pub(super) saved: Vec<Cursor>,
    /// When it began, in openings of tables.
    pub(super) began: u64,
    pub(super) id: u64,
    pub(super) changed: bool,
}

/// An open table.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) uid: u64,
    /// Since when others know it.
    pub(super) since: u64,
    pub(super) name: Vec<u8>,
    /// Its kind, the order included.
    pub(super) kind: Kind,
    /// The transaction that opened it and is not over; 0: none.
    pub(super) owner: u64,
    /// What it was to others, and will be again if that is aborted.
    pub(super) was: Option<Box<Handle>>,
}

impl Handle {
    /// This one for a handle that another was given out for.
    pub(super) fn instead_of(mut self, old: Option<Handle>) -> Handle {
        if let Some(old) = old.filter(|_| self.owner != 0) {
            let same = old.owner == self.owner;
            self.was = if same { old.was } else { Some(Box::new(old)) };
        }
        self
    }
}

#[derive(Clone, Debug)]
pub(super) struct Cursor {
    pub(super) uid: u64,
    pub(super) txn: Slot,
    /// 0: it is of none.
    pub(super) txn_uid: u64,
    /// Whether that writes.
    pub(super) writes: bool,
    pub(super) dbi: u32,
    pub(super) handle: u64,
    pub(super) place: Place,
    pub(super) closed: bool,
    /// The rule by which LMDB may have it elsewhere.
    pub(super) doubt: Option<&'static str>,
    /// The number of its key's values has changed since it went there.
    pub(super) counted: bool,
    /// Its value was given last, with others.
    pub(super) is_given: bool,
    /// It had reached the end.
    pub(super) at_end: bool,
    /// Whether it says that it is at the end, where that is clear.
    pub(super) eof: Option<bool>,
    /// Its transaction was renewed.
    pub(super) stale: bool,
}

/// An environment and all that is open in it.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) rules: Rules,
    pub(super) flags: u32,
    pub(super) committed: Data,
    /// The id of the last commit; `None` where the documents do not say.
    pub(super) id: Option<u64>,
    pub(super) handles: Vec<Option<Handle>>,
    pub(super) txns: [Option<Txn>; TXNS],
    pub(super) cursors: [Option<Cursor>; CURSORS],
    /// A table was opened since the environment was.
    pub(super) main_is_known: bool,
    /// Numbers that were given out.
    pub(super) uids: u64,
    notes: BTreeSet<&'static str>,
    /// Codes that the last call may give, too, where more than one thing was wrong.
    also: RefCell<Vec<i32>>,
}

impl Model {
    /// A new environment, opened with these flags.
    pub fn new(rules: Rules, flags: u32) -> Model {
        let id = Some(rules.interface.either(0, 1));
        let mut model = Model {
            rules,
            flags: 0,
            committed: Data::default(),
            id,
            handles: Vec::new(),
            txns: Default::default(),
            cursors: Default::default(),
            main_is_known: false,
            uids: 0,
            notes: BTreeSet::new(),
            also: RefCell::default(),
        };
        model.opened(flags);
        model
    }

    pub(super) fn uid(&mut self) -> u64 {
        self.uids += 1;
        self.uids
    }

    /// Here the library that is compared is known to differ.
    pub(super) fn differs(&self, rule: &'static str) -> Res<()> {
        if self.rules.compared { Err(Stop::Rule(rule)) } else { Ok(()) }
    }

    /// The same under a condition.
    pub(super) fn differs_if(&self, condition: bool, rule: &'static str) -> Res<()> {
        if condition { self.differs(rule) } else { Ok(()) }
    }

    /// The same for those before a patch of 0.9.
    pub(super) fn differs_before(
        &self,
        patch: u32,
        condition: bool,
        rule: &'static str,
    ) -> Res<()> {
        self.differs_if(condition && self.rules.patch < patch, rule)
    }

    /// The first of several reasons to refuse. Which of them counts is no promise.
    pub(super) fn refusal(&self, reasons: &[(bool, i32)]) -> Res<Option<i32>> {
        let mut codes: Vec<i32> =
            reasons.iter().filter(|(is_so, _)| *is_so).map(|(_, code)| *code).collect();
        let first = codes.first().copied();
        codes.sort_unstable();
        codes.dedup();
        self.differs_if(codes.len() > 1, "more than one thing is wrong")?;
        self.also.borrow_mut().extend(codes);
        Ok(first)
    }

    /// A call: what it must answer. The model is as after the call then.
    pub fn step(&mut self, op: &Op) -> Answer {
        self.also.borrow_mut().clear();
        // A call that is left out leaves no trace.
        let before = self.rules.compared.then(|| self.clone());
        let answer = self.answer(op);
        if let (Answer::Left(_), Some(before)) = (&answer, before) {
            *self = before;
        }
        answer
    }

    fn answer(&mut self, op: &Op) -> Answer {
        let answered = match op {
            Op::Reopen { .. }
            | Op::SetFlags { .. }
            | Op::GetFlags
            | Op::Sync { .. }
            | Op::TooLate
            | Op::EnvCount
            | Op::CheckReaders
            | Op::Copy { .. } => self.env_call(op),
            Op::Begin { txn, parent, flags, elsewhere } => {
                self.begin(*txn, *parent, *flags, *elsewhere)
            }
            Op::Commit { txn } => self.commit(*txn),
            Op::Abort { txn } => self.abort(*txn),
            Op::Reset { txn } => self.reset(*txn),
            Op::Renew { txn, elsewhere } => self.renew(*txn, *elsewhere),
            Op::Break { txn } | Op::TxnFlags { txn } => self.state_call(op, *txn),
            Op::PutCanary { txn, canary } => self.canary(*txn, Some(*canary)),
            Op::GetCanary { txn } => self.canary(*txn, None),
            Op::TxnId { txn } => self.txn_id(*txn),
            Op::Open { txn, name, flags, custom } => {
                self.open(*txn, name.as_deref(), *flags, *custom)
            }
            Op::Close { dbi } => self.close(*dbi),
            Op::Drop { txn, dbi, delete } => self.drop_table(*txn, *dbi, *delete),
            Op::Rename { txn, dbi, name } => self.rename(*txn, *dbi, name),
            Op::Sequence { txn, dbi, add } => self.sequence(*txn, *dbi, *add),
            Op::Count { txn, dbi } => self.count(*txn, *dbi),
            Op::Flags { txn, dbi } => self.flags_of(*txn, *dbi),
            Op::Compare { txn, dbi, a, b, of_values } => {
                self.compare(*txn, *dbi, [a, b], *of_values)
            }
            Op::Get { txn, dbi, key } => self.get(*txn, *dbi, key),
            Op::GetCounted { txn, dbi, key } => self.get_counted(*txn, *dbi, key),
            Op::GetNear { txn, dbi, key, value } => self.get_near(*txn, *dbi, key, value),
            Op::PutMany { txn, dbi, key, values, flags } => {
                self.put_many(*txn, *dbi, key, values, *flags)
            }
            Op::Replace { txn, dbi, key, old, new, flags } => {
                self.replace_record((*txn, *dbi), key, old, new.as_deref(), *flags)
            }
            Op::Put { txn, dbi, key, value, flags } => self.put(*txn, *dbi, key, value, *flags),
            Op::Del { txn, dbi, key, value } => self.del(*txn, *dbi, key, value.as_deref()),
            Op::Many { txn, dbi, pairs, delete } => self.many(*txn, *dbi, pairs, *delete),
            Op::CursorOpen { txn, dbi, cursor } => self.cursor_open(*txn, *dbi, *cursor),
            Op::CursorClose { cursor } => self.cursor_close(*cursor),
            Op::CursorRenew { txn, cursor } => self.cursor_renew(*txn, *cursor),
            Op::CursorOf { cursor } => self.cursor_of(*cursor),
            Op::CursorBind { .. }
            | Op::CursorUnbind { .. }
            | Op::CursorReset { .. }
            | Op::CursorCopy { .. }
            | Op::CursorIs { .. } => self.bound_call(op),
            Op::CursorGet { cursor, op, key, value } => self.cursor_get(*cursor, *op, key, value),
            Op::CursorPut { cursor, key, value, flags } => {
                self.cursor_put(*cursor, key, value, *flags)
            }
            Op::CursorPutMany { cursor, key, values, flags } => {
                self.cursor_put_many(*cursor, key, values, *flags)
            }
            Op::CursorDel { cursor, flags } => self.cursor_del(*cursor, *flags),
            Op::CursorCount { cursor } => self.cursor_count(*cursor),
        };
        match answered {
            Ok(outcome) => Answer::Is(outcome),
            Err(Stop::Rule(rule)) => Answer::Left(rule),
            Err(Stop::Void) => Answer::Void,
        }
    }

    /// More codes that may be given.
    pub(super) fn or(&self, codes: &[i32]) {
        self.also.borrow_mut().extend(codes);
    }

    /// Whether a refusal is as good as the one that was expected.
    pub(super) fn allows(&self, got: &Outcome, expected: &Outcome) -> bool {
        let same = Outcome { code: expected.code, ..got.clone() } == *expected;
        same && expected.code != 0 && self.also.borrow().contains(&got.code)
    }

    // ---- environments

    fn opened(&mut self, flags: u32) {
        self.flags = if flags & env::RDONLY != 0 { flags & !env::WRITEMAP } else { flags };
    }

    fn env_call(&mut self, op: &Op) -> Res<Outcome> {
        Ok(match op {
            Op::Reopen { flags } => {
                // Everything that was open is over.
                self.txns = Default::default();
                self.cursors = Default::default();
                self.handles.clear();
                self.main_is_known = false;
                self.id = None;
                self.opened(*flags);
                Outcome::code(0)
            }
            Op::SetFlags { flags, on } => Outcome::code(self.set_flags(*flags, *on)),
            Op::GetFlags => Outcome::number(self.flags.into()),
            Op::Sync { .. } if self.flags & env::RDONLY != 0 => Outcome::code(EACCES),
            Op::TooLate => Outcome::code(self.rules.interface.too_late()),
            Op::EnvCount if self.rules.interface.is_mdbx() => {
                let all = self.committed.all().map(|(_, rows)| rows.count());
                Outcome::number(all.sum::<usize>() as i64)
            }
            Op::EnvCount | Op::Copy { .. } => {
                if let Op::Copy { .. } = op {
                    let waits = self.innermost().is_some();
                    self.differs_if(waits, "a copy beside a writer of the thread")?;
                    let reads = self.no_reader()?.is_some();
                    self.differs_if(reads, "a copy is a reader")?;
                }
                Outcome::number(self.committed.rows(b"").map_or(0, |rows| rows.count()) as i64)
            }
            _ => Outcome::number(0),
        })
    }

    fn set_flags(&mut self, flags: u32, on: bool) -> i32 {
        let is_mdbx = self.rules.interface.is_mdbx();
        if is_mdbx && self.flags & env::RDONLY != 0 {
            return EACCES;
        }
        let changeable = if is_mdbx { env::CHANGEABLE_OF_MDBX } else { env::CHANGEABLE };
        if flags & !changeable != 0 {
            return self.rules.interface.too_late();
        }
        let all = self.flags | flags;
        let utterly = |flags: u32| flags & env::UTTERLY_NOSYNC == env::UTTERLY_NOSYNC;
        self.flags = if !on {
            self.flags & !flags
        } else if is_mdbx && !utterly(self.flags) && !utterly(flags) {
            // Half of it is another flag.
            all & !env::MAPASYNC
        } else {
            all
        };
        0
    }

    /// Calls that show all that is committed, in an environment that was just opened.
    pub(super) fn look_at_all(&self) -> Vec<Op> {
        let mut ops =
            vec![Op::Begin { txn: 0, parent: None, flags: env::RDONLY, elsewhere: false }];
        for (dbi, (name, rows)) in self.committed.all().enumerate() {
            let (name, custom) = (name.map(<[u8]>::to_vec), rows.kind.custom);
            let key = Vec::new();
            let go = |op| Op::CursorGet { cursor: 0, op, key: key.clone(), value: Vec::new() };
            ops.push(Op::Open { txn: 0, name, flags: 0, custom });
            ops.push(Op::CursorOpen { txn: 0, dbi: dbi as u32 + 1, cursor: 0 });
            ops.push(Op::Count { txn: 0, dbi: dbi as u32 + 1 });
            ops.extend((0..=rows.count()).map(|_| go(super::names::go::NEXT)));
            ops.push(Op::CursorClose { cursor: 0 });
        }
        ops.push(Op::Commit { txn: 0 });
        ops
    }

    /// Notes that something happened that no call's answer shows.
    pub(super) fn note(&mut self, what: &'static str) {
        self.notes.insert(what);
    }

    /// What was noted.
    pub(super) fn happened(&self) -> impl Iterator<Item = &'static str> {
        self.notes.iter().copied()
    }
}
