//! How the keys of a table compare.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::page::{AnyOrder, BytesOrder, CustomOrder, LABEL_BYTES_MAX, OrderKind, ReversedOrder};

/// A caller's comparison of two keys.
///
/// It must be a total order, and the same one for as long as the table exists.
pub type Compare = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// A caller's comparison with its name; made by [`Order::custom`].
#[derive(Clone)]
pub struct Comparator {
    /// `None`: two are the same only if they are the very same function.
    name: Option<Arc<str>>,
    compare: Arc<Compare>,
}

impl Comparator {
    /// Its name; `None` for those of C programs, which have none.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where the function lies.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.compare).cast::<()>() as usize
    }
}

/// How the keys of a table are ordered. Stored with the table when it is created.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// use huon::{Order, Str, TableDef, Unit};
/// let backwards = Order::custom("backwards", |a, b| b.cmp(a));
/// let t = txn.create_table(&TableDef::<Str, Unit>::new("t").ordered(backwards))?;
/// t.put(&mut txn, "ann", ())?;
/// t.put(&mut txn, "bob", ())?;
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
    /// As a function says that has a name: see [`Order::custom`].
    Custom(Comparator),
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
            Order::Custom(comparator) => {
                return f.debug_tuple("Custom").field(&comparator.name).finish();
            }
            Order::Stored => "Stored",
        })
    }
}

impl Order {
    /// As `compare` says, which must be a total order of byte strings, and the same one each time
    /// that it has this name. The name, of 1 to 255 bytes, is stored with the table: a comparator
    /// of another name is refused. Two functions of one name count as one, so it may be made anew
    /// at each opening; while a table is open, the function that opened it first is used.
    ///
    /// One that is no total order harms no other table: what was put into its own is found or not,
    /// and in any order, and a change may fail with [`Error::Corrupt`].
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// use huon::{Error, Order, Str, TableDef, Unit};
    /// let by_length = || Order::custom("by-length", |a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    /// let words = |order| TableDef::<Str, Unit>::new("words").ordered(order);
    /// let t = txn.create_table(&words(by_length()))?;
    /// t.put(&mut txn, "anemone", ())?;
    /// t.put(&mut txn, "bee", ())?;
    /// assert_eq!(t.first(&txn)?, Some(("bee", ())));
    /// let other = txn.open_table(&words(Order::custom("by-vowels", |a, b| b.cmp(a))));
    /// assert!(matches!(other, Err(Error::WrongOrder(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn custom(
        name: impl Into<Arc<str>>,
        compare: impl Fn(&[u8], &[u8]) -> Ordering + Send + Sync + 'static,
    ) -> Order {
        Order::Custom(Comparator { name: Some(name.into()), compare: Arc::new(compare) })
    }

    /// The same without a name, for programs in C: the file notes that there is a function, and no
    /// other is refused. Two are the same order only if they are the same function.
    #[doc(hidden)]
    pub fn unnamed(compare: Arc<Compare>) -> Order {
        Order::Custom(Comparator { name: None, compare })
    }

    /// The name of its comparator, if it has one; refused where it is too short or too long.
    pub(crate) fn label(&self) -> Result<Option<&str>> {
        let Order::Custom(comparator) = self else { return Ok(None) };
        match comparator.name() {
            Some(name) if name.is_empty() || name.len() > LABEL_BYTES_MAX => {
                Err(Error::Invalid("the name of a comparator has 1 to 255 bytes"))
            }
            name => Ok(name),
        }
    }

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
            Order::Custom(comparator) if stored == OrderKind::Custom => {
                Some(AnyOrder::Custom(CustomOrder(&*comparator.compare)))
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
