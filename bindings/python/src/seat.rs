//! Where a table is looked at: the transaction that it was opened in.

use std::sync::Arc;

use crate::read::Reading;
use crate::write::Level;

/// The transaction of a table. A table keeps it alive, but not from ending.
#[derive(Clone)]
pub(crate) enum Seat {
    Read(Arc<Reading>),
    Write(Arc<Level>),
}

impl Seat {
    /// Whether lookups give the interpreter lock up.
    pub(crate) fn releases(&self) -> bool {
        match self {
            Seat::Read(reading) => reading.releases,
            Seat::Write(level) => level.writer().releases,
        }
    }

    /// Moves on with each change of the transaction; one that reads sees none.
    pub(crate) fn changes(&self) -> u64 {
        match self {
            Seat::Read(_) => 0,
            Seat::Write(level) => level.writer().changes(),
        }
    }
}

/// `look!(seat, |txn| ..)`: does something with the engine's transaction, of either kind, and
/// returns its result. To be left by `?` only: what a
/// function that compares keys has raised is asked for behind it.
macro_rules! look {
    ($seat:expr, |$txn:ident| $work:expr) => {{
        let looked = match $seat {
            $crate::seat::Seat::Read(reading) => {
                let opened = reading.opened()?;
                let $txn: &huon::ReadTxn = &opened;
                $work
            }
            $crate::seat::Seat::Write(level) => {
                let opened = level.opened()?;
                let $txn: &huon::WriteTxn = &opened;
                $work
            }
        };
        $crate::order::raised()?;
        looked
    }};
}

/// The same without the interpreter lock; `$work` returns a result of the engine's.
macro_rules! look_detached {
    ($seat:expr, $py:expr, |$txn:ident| $work:expr) => {{
        let looked = match $seat {
            $crate::seat::Seat::Read(reading) => {
                let opened = reading.opened()?;
                let $txn: &huon::ReadTxn = &opened;
                $py.detach(|| $work)?
            }
            $crate::seat::Seat::Write(level) => {
                let mut opened = level.opened()?;
                // Alone, so that it may be used without the interpreter lock.
                let alone: &mut huon::WriteTxn = &mut opened;
                $py.detach(move || {
                    let $txn: &huon::WriteTxn = alone;
                    $work
                })?
            }
        };
        $crate::order::raised()?;
        looked
    }};
}

pub(crate) use {look, look_detached};
