//! The typed face: tables of keys and values, over the bytes below.

pub(crate) mod bulk;
pub(crate) mod codec;
pub(crate) mod cursor;
pub(crate) mod def;
mod glide;
pub(crate) mod iter;
mod kept;
pub(crate) mod leaves;
pub(crate) mod many;
pub(crate) mod multi;
mod multi_write;
mod nearest;
pub(crate) mod owned;
pub(crate) mod owned_pairs;
pub(crate) mod pairs;
pub(crate) mod plain;
mod standing;
pub(crate) mod txn;
pub(crate) mod value;
pub(crate) mod verbs;
mod walk;
