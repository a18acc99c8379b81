//! Tables as text: the format of `mdb_dump`, which LMDB, libmdbx and Berkeley DB read and write.
//!
//! - [`dump()`] writes what an environment holds, and rescues what it can of a damaged file.
//! - [`load()`] reads such text, whichever program wrote it.
//! - [`SectionWriter`] and [`read_sections()`] are the text alone, for records that do not lie in
//!   tables of their own.
//!
//! ```
//! use huon_text::{DumpOptions, LoadOptions, dump, load};
//!
//! # let dir = tempfile::tempdir()?;
//! # let open = |name| huon::Env::open(dir.path().join(name));
//! let (from, to) = (open("from.huon")?, open("to.huon")?);
//! from.update(|txn| {
//!     let def = huon::TableDef::<huon::Str, huon::Str>::new("t");
//!     txn.create_table(&def)?.put(txn, "key", "value")
//! })?;
//! let mut text = Vec::new();
//! dump(&from, &mut text, DumpOptions::new())?;
//! let report = load(&to, &mut &text[..], LoadOptions::new())?;
//! assert_eq!((report.tables, report.records), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `serde` reports serialise.
//!
//! The format is described in `lines.rs`, what a section's header may say in `header.rs`. Memory is
//! bounded by the longest key and value, and a refusal of memory is an error.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod dump;
mod error;
mod header;
mod lines;
mod load;
mod meter;
mod sections;

pub use dump::{DumpOptions, DumpReport, dump};
pub use error::{Error, InputError, Result};
pub use load::{LoadOptions, LoadReport, load};
pub use sections::{Section, SectionSink, SectionWriter, read_sections};
