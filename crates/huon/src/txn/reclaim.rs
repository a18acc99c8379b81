//! Numbers of tables that are given back.
//!
//! A name whose table is gone since transaction `D`, and was made by `B`, is given back when
//!
//! 1. the newest published snapshot is `D` or later and has no such table;
//! 2. no open read transaction of this client reads a snapshot from `B` on and before `D`;
//! 3. no write transaction of this client that is not over has made the table again.
//!
//! So the table of a handle is found in every snapshot that shows it. If others drop and make a
//! table again at that very moment, a handle may be released too early: it is refused then, and the
//! table can be opened again (N1).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::txn::meaning::{TableShape, TableSpec};
use crate::txn::names::TableNo;
use crate::txn::read::ReadTxn;
use crate::txn::{Core, catalog};

impl Core {
    /// The number of a table that a transaction has found, or has made.
    pub(crate) fn intern(
        self: &Arc<Core>,
        wanted: &TableSpec<'_>,
        shape: &TableShape,
        made_by: Option<u64>,
    ) -> Result<TableNo> {
        if made_by.is_none()
            && let Some(no) = self.names.find(wanted.name, shape)
        {
            return Ok(no);
        }
        if self.names.is_crowded() {
            // Where it cannot be looked, there are more numbers.
            let _ = self.give_numbers_back();
            self.names.looked();
        }
        self.names.intern(wanted, shape, made_by)
    }

    #[cold]
    fn give_numbers_back(self: &Arc<Core>) -> Result<()> {
        let newest = ReadTxn::begin(self)?;
        let slots = &self.store.slots;
        let readers = slots.list()?.into_iter().filter(|reader| slots.is_mine(reader));
        let mut pins: Vec<u64> = readers.map(|reader| reader.txnid).collect();
        if let Some(guest) = &self.store.guest {
            pins.extend(guest.pinned());
        }
        let is_there = |name: &[u8]| {
            let found = catalog::find(&newest.snapshot, newest.main(), name);
            // An ordinary record may have the name. A damaged catalog says nothing of it.
            !matches!(found, Ok(None) | Err(Error::NameTaken))
        };
        for name in self.names.names_to_sweep()? {
            if !is_there(&name) {
                self.names.note_gone(&name, newest.id());
            }
        }
        for (name, at) in self.names.take_gone() {
            let Some(born) = self.names.born(&name) else { continue };
            let is_seen = pins.iter().any(|pin| (born..at).contains(pin));
            if newest.id() < at || is_seen {
                self.names.put_off(name, at);
            } else {
                self.names.give_back(&name, at, is_there(&name));
            }
        }
        Ok(())
    }
}
