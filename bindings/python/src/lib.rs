//! Huon for Python: the native module `huon._huon`, straight over the engine. The package in
//! `python/huon` shows it, and adds what is best written in Python.
//!
//! 1. No lock is waited for while the interpreter lock is held: what another thread uses at this
//!    moment is refused with a `MisuseError`, and so nothing hangs. Long waits give the interpreter
//!    lock up, in slices, so that signals are seen.
//! 2. Bytes that a memory view shows stay: a read transaction with views does not end, and those of
//!    a write transaction are copies.
//! 3. Ranges keep no cursor: each batch looks its place up again. So they hold no borrow of the
//!    transaction, and go on rightly while it changes its tables.

mod array;
mod batch;
mod bytes;
mod care;
mod catalog;
mod compactor;
mod env;
mod fault;
mod functions;
mod given;
mod lsm;
mod lsm_mapping;
mod lsm_reports;
mod multi;
mod options;
mod order;
mod part;
mod read;
mod records;
mod scan;
mod seat;
mod table;
mod ticket;
#[allow(unsafe_code)]
mod view;
mod write;

#[pyo3::pymodule(gil_used = true)]
mod _huon {
    #[pymodule_export]
    use super::batch::LsmBatch;
    #[pymodule_export]
    use super::care::{delete, restore};
    #[pymodule_export]
    use super::compactor::{_stop_compactors, Compactor};
    #[pymodule_export]
    use super::env::Env;
    #[pymodule_export]
    use super::lsm::{Lsm, LsmTable};
    #[pymodule_export]
    use super::lsm_mapping::LsmMapping;
    #[pymodule_export]
    use super::multi::MultiTable;
    #[pymodule_export]
    use super::options::open;
    #[pymodule_export]
    use super::read::ReadTxn;
    #[pymodule_export]
    use super::records::Records;
    #[pymodule_export]
    use super::scan::{Items, Keys, Values};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::ticket::Ticket;
    #[pymodule_export]
    use super::view::View;
    #[pymodule_export]
    use super::write::WriteTxn;
}
