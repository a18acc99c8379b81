//! How the keys of a table compare.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::page::{AnyOrder, BytesOrder, CustomOrder, OrderKind, ReversedOrder};

/// A caller's comparison of two keys.
///
/// It must be a total order, and the same one for as long as the table exists.
pub type Compare = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// How the keys of a table are ordered. Stored with the table when it is created.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
/// # let mut txn = env.write()?;
/// use huon::{Order, Str, TableDef, Unit};
/// let backwards = Order::Custom(std::sync::Arc::new(|a: &[u8], b: &[u8]| b.cmp(a)));
/// let t = txn.create(&TableDef::<Str, Unit>::new("t").ordered(backwards))?;
/// t.put(&mut txn, "ann", &())?;
/// t.put(&mut txn, "bob", &())?;
/// assert_eq!(t.first(&txn)?, Some(("bob", ())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Order {
    /// As byte strings.
    #[default]
    Bytes,
    /// From the last byte to the first.
    Reversed,
    /// Keys are unsigned 32-bit integers, little-endian in the file.
    NativeU32,
    /// Keys are unsigned 64-bit integers, little-endian in the file.
    NativeU64,
    /// As the function says. The file only notes that there is one: give the same function each
    /// time.
    Custom(Arc<Compare>),
    /// As the table was created; one with a caller's function can then only be read from end to
    /// end.
    Stored,
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Bytes => "Bytes",
            Order::Reversed => "Reversed",
            Order::NativeU32 => "NativeU32",
            Order::NativeU64 => "NativeU64",
            Order::Custom(_) => "Custom",
            Order::Stored => "Stored",
        })
    }
}

impl Order {
    /// What the file says of the order; `None`: whatever it says is right.
    pub(crate) fn kind(&self) -> Option<OrderKind> {
        match self {
            Order::Bytes => Some(OrderKind::Bytes),
            Order::Reversed => Some(OrderKind::Reversed),
            Order::NativeU32 => Some(OrderKind::Native4),
            Order::NativeU64 => Some(OrderKind::Native8),
            Order::Custom(_) => Some(OrderKind::Custom),
            Order::Stored => None,
        }
    }

    /// The order to use for a table of the stored kind. `None`: its function is not known here.
    pub(crate) fn resolve(&self, stored: OrderKind) -> Option<AnyOrder<'_>> {
        match self {
            Order::Custom(compare) if stored == OrderKind::Custom => {
                Some(AnyOrder::Custom(CustomOrder(&**compare)))
            }
            _ => built_in(stored),
        }
    }

    /// Whether a function of the caller's is needed.
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self, Order::Custom(_))
    }
}

/// The order of this kind, unless it is a function of the caller's.
#[inline]
pub(crate) fn built_in(kind: OrderKind) -> Option<AnyOrder<'static>> {
    match kind {
        OrderKind::Bytes => Some(AnyOrder::Bytes(BytesOrder)),
        OrderKind::Reversed | OrderKind::Native4 | OrderKind::Native8 => {
            Some(AnyOrder::Reversed(ReversedOrder))
        }
        OrderKind::Custom => None,
    }
}
