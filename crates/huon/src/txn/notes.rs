//! Notes of an application in the snapshots themselves, beside its tables: three markers.
//!
//! I12. Markers name the snapshot that they were committed with. Its id is known at the seal only,
//!     since the transaction may go on under higher ids: until then it is the current one.

use crate::page::Meta;

/// Three numbers for the application, and the transaction that changed them last; see
/// [`WriteTxn::set_markers`](crate::WriteTxn::set_markers).
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Markers {
    /// The numbers; 0 in a new environment.
    pub values: [u64; 3],
    /// The id of the transaction that changed them last; 0: none has.
    pub txnid: u64,
}

/// The notes as a write transaction has them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notes {
    pub(super) markers: Markers,
    pub(super) app_flags: u32,
    /// The catalog names snapshots (Y2).
    pub(super) names: bool,
    /// They are not those of the base.
    pub(super) changed: bool,
    /// The markers are this transaction's.
    pub(super) own_markers: bool,
}

impl Notes {
    pub(super) fn of(meta: &Meta) -> Notes {
        let markers = Markers { values: meta.markers, txnid: meta.markers_txnid };
        Notes {
            markers,
            app_flags: meta.app_flags,
            names: meta.names,
            changed: false,
            own_markers: false,
        }
    }
}
