//! The functions that C calls, by subject. Their comments are those of the header.

pub(crate) mod codes;
pub(crate) mod error;

mod ask;
mod batch;
mod care;
mod compactor;
mod cursor;
mod def;
mod env;
mod lsm;
mod multi;
mod options;
mod range;
mod report;
mod snapshot;
mod table;
mod txn;
mod visit;

pub use ask::*;
pub use batch::*;
pub use care::*;
pub use codes::*;
pub use compactor::*;
pub use cursor::*;
pub use def::*;
pub use env::*;
pub use error::*;
pub use lsm::*;
pub use multi::*;
pub use options::*;
pub use range::*;
pub use report::*;
pub use snapshot::*;
pub use table::*;
pub use txn::*;
pub use visit::*;
