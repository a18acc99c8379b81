//! Calls of cursors.

use super::*;

impl Maker {
    pub(super) fn cursor_op(&mut self, txn: Slot) -> Op {
        let uid = self.model.txns[txn].as_ref().map_or(0, |txn| txn.uid);
        let of = |cursor: &Slot, txn: Option<u64>| {
            let cursor = self.model.cursors[*cursor].as_ref();
            cursor.is_some_and(|c| !c.closed && txn.is_none_or(|txn| c.txn_uid == txn))
        };
        let own: Vec<Slot> = (0..CURSORS).filter(|cursor| of(cursor, Some(uid))).collect();
        let any: Vec<Slot> = (0..CURSORS).filter(|cursor| of(cursor, None)).collect();
        let free: Vec<Slot> = (0..CURSORS).filter(|cursor| !of(cursor, None)).collect();
        if !free.is_empty() && (own.is_empty() || own.len() < 4 && self.random.chance(10)) {
            let cursor = self.random.pick(&free);
            return Op::CursorOpen { txn, dbi: self.some_dbi(), cursor };
        }
        if self.interface.is_mdbx() && !any.is_empty() && self.random.chance(6) {
            let [cursor, other] = [0; 2].map(|_| self.random.pick(&any));
            return self.other_cursor_op(txn, cursor, other);
        }
        if own.is_empty() || self.random.chance(2) {
            let cursor = if any.is_empty() { 0 } else { self.random.pick(&any) };
            return match self.random.below(3) {
                0 => Op::CursorRenew { txn, cursor },
                _ => Op::CursorClose { cursor },
            };
        }
        let cursor =
            if self.random.chance(1) { self.random.index(CURSORS) } else { self.random.pick(&own) };
        self.with_cursor(txn, cursor)
    }

    /// What only libmdbx does with cursors.
    fn other_cursor_op(&mut self, txn: Slot, cursor: Slot, other: Slot) -> Op {
        match self.random.below(100) {
            0..50 => Op::CursorBind { txn, dbi: self.some_dbi(), cursor },
            50..65 => Op::CursorRenew { txn, cursor },
            65..75 => Op::CursorUnbind { cursor },
            75..82 => Op::CursorReset { cursor },
            _ => Op::CursorCopy { from: other, to: cursor },
        }
    }

    fn with_cursor(&mut self, txn: Slot, cursor: Slot) -> Op {
        let dbi = self.model.cursors[cursor].as_ref().map_or(MAIN, |cursor| cursor.dbi);
        let known = self.known(txn, dbi);
        if self.interface.is_mdbx() && self.random.chance(8) {
            use End::*;
            let at = self.random.pick(&[Eof, Eof, First, Last, FirstDup, LastDup]);
            return Op::CursorIs { cursor, at };
        }
        match self.random.below(100) {
            0..58 => self.go(&known, txn, dbi, cursor),
            58..70 => {
                let key = self.key(&known, dbi, txn);
                let value = self.value(&known);
                Op::CursorPut { cursor, key, value, flags: self.put_flags(true) }
            }
            70..75 => self.put_current(&known, cursor),
            75..80 => self.put_many(&known, txn, dbi, cursor),
            80..93 => {
                let flags = match self.random.below(20) {
                    0..3 => put::NODUPDATA,
                    3 => 0x100,
                    _ => 0,
                };
                Op::CursorDel { cursor, flags }
            }
            93..97 => Op::CursorCount { cursor },
            97..98 => Op::CursorOf { cursor },
            98..99 => Op::CursorRenew { txn, cursor },
            _ => Op::CursorClose { cursor },
        }
    }

    fn go(&mut self, known: &Known, txn: Slot, dbi: u32, cursor: Slot) -> Op {
        use go::*;
        let op = match self.random.below(100) {
            0..45 => self.random.pick(&[NEXT, PREV, NEXT_DUP, PREV_DUP, GET_CURRENT]),
            45..99 => self.random.below(self.interface.either(19, 21)) as u32,
            _ => self.interface.either(19, 21) + self.random.below(3) as u32,
        };
        let key = self.key(known, dbi, txn);
        let stored = self.stored_value(txn, dbi, &key, 60);
        let value = stored.unwrap_or_else(|| self.value(known));
        Op::CursorGet { cursor, op, key, value }
    }

    fn put_current(&mut self, known: &Known, cursor: Slot) -> Op {
        let near = self.model.cursors[cursor].as_ref().and_then(|c| c.place.near().cloned());
        let same = self.compared || self.random.chance(30);
        let (key, value) = match near {
            Some(spot) if known.kind.has_many() && same => (spot.key, spot.value),
            Some(spot) => (spot.key, self.value(known)),
            None => (b"none".to_vec(), self.value(known)),
        };
        let more = self.random.below(12);
        let flags = match more {
            0 => put::RESERVE,
            1 => put::NOOVERWRITE,
            2 if self.interface.is_mdbx() => put::ALLDUPS,
            _ => 0,
        };
        Op::CursorPut { cursor, key, value, flags: put::CURRENT | flags }
    }

    fn put_many(&mut self, known: &Known, txn: Slot, dbi: u32, cursor: Slot) -> Op {
        let key = self.key(known, dbi, txn);
        let (values, flags) = self.several(known);
        Op::CursorPutMany { cursor, key, values, flags }
    }

    /// Several values of one length, and how they are to be put.
    pub(super) fn several(&mut self, known: &Known) -> (Vec<Vec<u8>>, u32) {
        let count = self.random.pick(&[0, 1, 2, 5, 40]);
        let mut values: Vec<Vec<u8>> = (0..count).map(|_| self.value(known)).collect();
        values.retain(|value| value.len() == known.value_bytes);
        use put::*;
        let flags = self.random.pick(&[0, 0, NODUPDATA, NOOVERWRITE, APPEND, APPENDDUP]);
        if flags & APPENDDUP != 0 {
            values.sort();
            values.dedup();
        }
        (values, flags)
    }
}
