//! Calls of cursors.

use super::*;

impl Driver {
    fn cursor_made(&mut self, at: Slot, code: c_int, cursor: *mut MDBX_cursor) -> Outcome {
        if !cursor.is_null() {
            self.cursors[at] = Some(Cursor { cursor, is_over: false });
        }
        Outcome::code(code)
    }

    pub(super) fn cursor_call(&mut self, op: &Op) -> Outcome {
        // SAFETY: the pointers are good for writing; handles of Huon's may be over.
        unsafe {
            match op {
                Op::CursorOpen { txn, dbi, cursor } => {
                    let mut made = ptr::null_mut();
                    let code = (self.api.mdbx_cursor_open)(self.txn(*txn), *dbi, &mut made);
                    self.cursor_made(*cursor, code, made)
                }
                Op::CursorBind { txn, dbi, cursor } => {
                    if self.cursors[*cursor].as_ref().is_none_or(|cursor| cursor.is_over) {
                        let made = (self.api.mdbx_cursor_create)(ptr::null_mut());
                        self.cursor_made(*cursor, 0, made);
                    }
                    let (txn, cursor) = (self.txn(*txn), self.cursor(*cursor));
                    Outcome::code((self.api.mdbx_cursor_bind)(txn, cursor, *dbi))
                }
                Op::CursorClose { cursor } => {
                    (self.api.mdbx_cursor_close)(self.cursor(*cursor));
                    if let Some(cursor) = &mut self.cursors[*cursor] {
                        cursor.is_over = true;
                    }
                    Outcome::code(0)
                }
                Op::CursorRenew { txn, cursor } => {
                    let (txn, cursor) = (self.txn(*txn), self.cursor(*cursor));
                    Outcome::code((self.api.mdbx_cursor_renew)(txn, cursor))
                }
                Op::CursorUnbind { cursor } => {
                    Outcome::code((self.api.mdbx_cursor_unbind)(self.cursor(*cursor)))
                }
                Op::CursorReset { cursor } => {
                    Outcome::code((self.api.mdbx_cursor_reset)(self.cursor(*cursor)))
                }
                Op::CursorCopy { from, to } => {
                    let (from, to) = (self.cursor(*from), self.cursor(*to));
                    Outcome::code((self.api.mdbx_cursor_copy)(from, to))
                }
                Op::CursorOf { cursor } => self.cursor_of(*cursor),
                Op::CursorIs { cursor, at } => {
                    let is = match at {
                        End::Eof => self.api.mdbx_cursor_eof,
                        End::First => self.api.mdbx_cursor_on_first,
                        End::Last => self.api.mdbx_cursor_on_last,
                        End::FirstDup => self.api.mdbx_cursor_on_first_dup,
                        End::LastDup => self.api.mdbx_cursor_on_last_dup,
                    };
                    Outcome::code(is(self.cursor(*cursor)))
                }
                Op::CursorDel { cursor, flags } => {
                    self.cursor_changes(*cursor);
                    Outcome::code((self.api.mdbx_cursor_del)(self.cursor(*cursor), *flags))
                }
                Op::CursorCount { cursor } => {
                    let mut count = 0;
                    let code = (self.api.mdbx_cursor_count)(self.cursor(*cursor), &mut count);
                    Outcome::with_number(code, count as i64)
                }
                Op::CursorPutMany { cursor, key, values, flags } => {
                    self.cursor_changes(*cursor);
                    let (put, at) = (self.api.mdbx_cursor_put, self.cursor(*cursor));
                    several(values, |data| put(at, &val(key), data, flags | put::MULTIPLE))
                }
                Op::CursorGet { cursor, op, key, value } => {
                    self.cursor_get(*cursor, *op, key, value)
                }
                Op::CursorPut { cursor, key, value, flags } => {
                    self.cursor_put(*cursor, key, value, *flags)
                }
                _ => unreachable!("{op}"),
            }
        }
    }

    /// The slot of a cursor's transaction, if it has one.
    fn slot_of(&self, at: Slot) -> Option<Slot> {
        let Some(Cursor { cursor, is_over: false }) = self.cursors[at] else { return None };
        // SAFETY: it is open.
        self.slots.slot_of(unsafe { (self.api.mdbx_cursor_txn)(cursor) })
    }

    fn cursor_of(&self, at: Slot) -> Outcome {
        // SAFETY: handles of Huon's may be over.
        let dbi = unsafe { (self.api.mdbx_cursor_dbi)(self.cursor(at)) };
        match self.slot_of(at) {
            None => Outcome::number(dbi.into()),
            Some(slot) => Outcome::number((slot as i64 + 1) * 1000 + i64::from(dbi)),
        }
    }

    fn cursor_changes(&mut self, at: Slot) {
        if let Some(slot) = self.slot_of(at) {
            self.slots.changes(slot);
        }
    }

    /// The table of a cursor that may be over.
    fn dbi_of(&self, at: Slot) -> u32 {
        match &self.cursors[at] {
            // SAFETY: it is open.
            Some(cursor) if !cursor.is_over => unsafe { (self.api.mdbx_cursor_dbi)(cursor.cursor) },
            _ => 0,
        }
    }

    fn cursor_get(&mut self, at: Slot, op: u32, key: &[u8], value: &[u8]) -> Outcome {
        use go::*;
        let (mut key, mut value) = (val(key), val(value));
        let own = key.iov_base;
        let (get, cursor) = (self.api.mdbx_cursor_get, self.cursor(at));
        // SAFETY: the values live.
        let code = unsafe { get(cursor, &mut key, &mut value, op) };
        if ![0, RESULT_TRUE].contains(&code) {
            return Outcome::code(code);
        }
        let several = [GET_MULTIPLE, NEXT_MULTIPLE, PREV_MULTIPLE].contains(&op);
        // A copy that the cursor keeps may be as long as a name's record.
        let (slot, dbi) = if several { (None, 0) } else { (self.slot_of(at), self.dbi_of(at)) };
        // A search among the values of a key knows the key.
        let known = [GET_BOTH, GET_BOTH_RANGE, FIRST_DUP, LAST_DUP].contains(&op) || several;
        let key = (key.iov_base != own && !known).then(|| self.shown(slot, 0, key));
        Outcome { code, key, value: Some(self.shown(slot, dbi, value)), number: None }
    }

    fn cursor_put(&mut self, at: Slot, key: &[u8], value: &[u8], flags: u32) -> Outcome {
        self.cursor_changes(at);
        let mut data = to_store(value, flags);
        let cursor = self.cursor(at);
        // SAFETY: the values live.
        let code = unsafe { (self.api.mdbx_cursor_put)(cursor, &val(key), &mut data, flags) };
        let dbi = self.dbi_of(at);
        self.stored(code, dbi, value, flags, data)
    }
}
