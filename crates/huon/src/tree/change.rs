//! Changing a value by what it is, with one descent.

use crate::error::{Error, Result};
use crate::page::KeyOrder;
use crate::tree::edit::TreeMut;
use crate::tree::put::NewValue;
use crate::tree::read;
use crate::tree::values::Orders;

/// What is to become of a value.
pub(crate) enum Made {
    /// It stays as it is.
    Nothing,
    /// These bytes take its place.
    Value(Vec<u8>),
    /// The key goes.
    Removal,
}

impl<O: KeyOrder> TreeMut<'_, O> {
    /// Does what `change` wants done to the value of `key`; whether there was one.
    pub(crate) fn change(
        &mut self,
        key: &[u8],
        change: impl FnOnce(Option<&[u8]>) -> Made,
    ) -> Result<bool> {
        self.check_key(key)?;
        let found = self.seek(key)?;
        let old = if found {
            let there = self.finger.path().cell(self.pages)?;
            Some(read::value(&*self.pages, &there)?.ok_or(Error::NameTaken)?)
        } else {
            None
        };
        match change(old) {
            Made::Value(new) => {
                self.check_record(key, new.len())?;
                self.put_found(key, NewValue::Bytes(&new), found)?;
            }
            Made::Removal if found => self.delete_here()?,
            Made::Removal | Made::Nothing => {}
        }
        Ok(found)
    }
}

impl TreeMut<'_, Orders<'_>> {
    /// Does what `change` wants done to the value of a multimap's `key`, which may have one or
    /// none; whether it had one.
    pub(crate) fn change_only(
        &mut self,
        key: &[u8],
        change: impl FnOnce(Option<&[u8]>) -> Made,
    ) -> Result<bool> {
        self.check_key(key)?;
        let found = self.keys().seek(key)?;
        let old = if found { Some(self.only_value()?) } else { None };
        match change(old) {
            Made::Value(new) => self.put_only((key, &new), found)?,
            Made::Removal if found => self.keys().delete_here()?,
            Made::Removal | Made::Nothing => {}
        }
        Ok(found)
    }
}
