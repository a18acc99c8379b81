//! What a transaction shows: the main table and those with names.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::rows::{Kind, Rows};

/// Stands for what the name of a table has as its value in the main table.
pub const NAME_RECORD: [u8; 48] = [b'#'; 48];

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Data {
    /// The numbers that a program keeps beside its tables.
    pub(super) canary: [u64; 3],
    main: Rc<Rows>,
    named: BTreeMap<Vec<u8>, Rc<Rows>>,
}

impl Data {
    /// A table; the main one has an empty name.
    pub(super) fn rows(&self, name: &[u8]) -> Option<&Rows> {
        if name.is_empty() { Some(&self.main) } else { self.named.get(name).map(|rows| &**rows) }
    }

    pub(super) fn rows_mut(&mut self, name: &[u8]) -> Option<&mut Rows> {
        if name.is_empty() {
            Some(Rc::make_mut(&mut self.main))
        } else {
            self.named.get_mut(name).map(Rc::make_mut)
        }
    }

    pub(super) fn has_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// Whether a key of the main table is the name of another.
    pub(super) fn is_name(&self, key: &[u8]) -> bool {
        self.named.contains_key(key)
    }

    pub(super) fn create(&mut self, name: &[u8], kind: Kind) {
        self.named.insert(name.to_vec(), Rc::new(Rows::new(kind)));
        Rc::make_mut(&mut self.main).put(name, &NAME_RECORD);
    }

    pub(super) fn remove(&mut self, name: &[u8]) {
        self.named.remove(name);
        Rc::make_mut(&mut self.main).remove(name, None);
    }

    pub(super) fn rename(&mut self, old: &[u8], new: &[u8]) {
        let Some(rows) = self.named.remove(old) else { return };
        self.named.insert(new.to_vec(), rows);
        let main = Rc::make_mut(&mut self.main);
        main.remove(old, None);
        main.put(new, &NAME_RECORD);
    }

    /// Empties the main table, and with it all that have names.
    pub(super) fn clear(&mut self) {
        self.named.clear();
        Rc::make_mut(&mut self.main).clear();
    }

    /// Makes the main table one of a kind.
    pub(super) fn set_main(&mut self, kind: Kind) {
        Rc::make_mut(&mut self.main).kind = kind;
    }

    /// All tables, the main one first.
    pub(super) fn all(&self) -> impl Iterator<Item = (Option<&[u8]>, &Rows)> {
        let named = self.named.iter().map(|(name, rows)| (Some(&name[..]), &**rows));
        std::iter::once((None, &*self.main)).chain(named)
    }
}
