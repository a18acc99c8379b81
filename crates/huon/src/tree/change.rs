//! Changing a value by what it is, with one descent.

use crate::error::{Error, Result};
use crate::page::{KeyOrder, Tree};
use crate::store::pages::Pages;
use crate::tree::finger::Finger;
use crate::tree::read;
use crate::tree::write::{NewValue, cell_at, check_lengths, put_found};

/// Stores what `change` makes of the value of `key`, if it makes any, with one descent.
pub(crate) fn change_near<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    key: &[u8],
    change: impl FnOnce(Option<&[u8]>) -> Result<Option<Vec<u8>>>,
    finger: &mut Finger,
) -> Result<()> {
    check_lengths(pages, key, &[])?;
    let found = finger.seek(pages, tree, order, key)?;
    let old = if found {
        let there = cell_at(pages, finger.path())?;
        Some(read::value(&*pages, &there)?.ok_or(Error::NameTaken)?)
    } else {
        None
    };
    let Some(new) = change(old)? else { return Ok(()) };
    check_lengths(pages, key, &new)?;
    put_found(pages, tree, order, key, NewValue::Bytes(&new), found, finger).map(drop)
}
