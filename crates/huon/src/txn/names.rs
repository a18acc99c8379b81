//! The names of tables that this environment has met, and how their keys compare.
//!
//! A table handle is a number in this list. Numbers are never given out twice, and entries never
//! move or change, so a handle is found without a lock and stays good as long as the environment is
//! open.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use crate::alloc::{collected, copied};
use crate::error::{Error, Result};
use crate::os::unique_number;
use crate::page::{AnyOrder, BytesOrder, CustomOrder, ManyValues, OrderKind, ReversedOrder, Tree};

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
        match (stored, self) {
            (OrderKind::Bytes, _) => Some(AnyOrder::Bytes(BytesOrder)),
            (OrderKind::Reversed | OrderKind::Native4 | OrderKind::Native8, _) => {
                Some(AnyOrder::Reversed(ReversedOrder))
            }
            (OrderKind::Custom, Order::Custom(compare)) => {
                Some(AnyOrder::Custom(CustomOrder(&**compare)))
            }
            (OrderKind::Custom, _) => None,
        }
    }
}

/// What a handle means by the values of a key where there may be many.
#[derive(Clone, Debug)]
pub(crate) struct Many {
    pub(crate) order: Order,
    pub(crate) lengths: Lengths,
}

/// How long the values of a multimap are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lengths {
    /// Of any length.
    Any,
    /// All of one length, in bytes; 0: that of the first.
    Equal(u32),
    /// As the table was created.
    Stored,
}

/// One table as a handle means it.
#[derive(Debug)]
pub(crate) struct TableInfo {
    /// The first handle of the same name: what a transaction keeps for a table is kept under it.
    pub(crate) same_name: u32,
    /// Empty for the main table.
    pub(crate) name: Box<[u8]>,
    pub(crate) order: Order,
    /// `None`: a key has one value.
    pub(crate) many: Option<Many>,
}

impl TableInfo {
    /// The table when it is created. A stored order means bytes then.
    pub(crate) fn empty(&self) -> Tree {
        let kind = |order: &Order| order.kind().unwrap_or_default();
        let mut tree = Tree::new(kind(&self.order));
        if let Some(many) = &self.many {
            let order = kind(&many.order);
            let bytes = match many.lengths {
                Lengths::Any | Lengths::Stored => None,
                Lengths::Equal(bytes) => Some(bytes),
            };
            let native = order.key_bytes().map(|bytes| bytes as u32);
            let equal = native.or(bytes);
            tree.many = Some(ManyValues { order, equal: equal.is_some() });
            tree.fixed_bytes = equal.unwrap_or(0);
        }
        tree
    }

    /// Fails unless the stored table is such as the caller expects.
    pub(crate) fn check(&self, tree: &Tree) -> Result<()> {
        let same = |order: &Order, stored| order.kind().is_none_or(|kind| kind == stored);
        let values = match (&self.many, &tree.many) {
            (None, None) => true,
            (Some(many), Some(stored)) => {
                let lengths = match many.lengths {
                    Lengths::Stored => true,
                    Lengths::Any => !stored.equal || stored.order.key_bytes().is_some(),
                    Lengths::Equal(0) => stored.equal,
                    Lengths::Equal(bytes) => stored.equal && tree.fixed_bytes == bytes,
                };
                same(&many.order, stored.order) && lengths
            }
            _ => false,
        };
        if same(&self.order, tree.order) && values { Ok(()) } else { Err(Error::TableKind) }
    }

    /// How the values of a key compare.
    pub(crate) fn value_order(&self, tree: &Tree) -> Result<AnyOrder<'_>> {
        let (Some(many), Some(stored)) = (&self.many, tree.many) else {
            return Err(Error::TableKind);
        };
        many.order.resolve(stored.order).ok_or(Error::TableKind)
    }
}

/// Entries of a block: together they take less than 4096 bytes.
const BLOCK: usize = 32;
const BLOCKS: usize = 1024;
/// The handle of the main table.
pub(crate) const MAIN: u32 = 0;

type Block = Box<[OnceLock<TableInfo>]>;

/// A handle as users hold it: the number in the list, and which list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableId {
    tag: u32,
    number: u32,
}

impl TableId {
    pub(crate) fn is_main(self) -> bool {
        self.number == MAIN
    }
}

/// The list.
pub(crate) struct Names {
    /// Tells the lists of different environments apart.
    tag: u32,
    blocks: Box<[OnceLock<Block>]>,
    by_name: Mutex<HashMap<Box<[u8]>, Vec<u32>>>,
    count: std::sync::atomic::AtomicUsize,
}

impl Names {
    pub(crate) fn new() -> Result<Names> {
        let names = Names {
            tag: unique_number() as u32,
            blocks: collected((0..BLOCKS).map(|_| OnceLock::new()))?.into_boxed_slice(),
            by_name: Mutex::default(),
            count: 0.into(),
        };
        names.push(TableInfo {
            same_name: MAIN,
            name: Box::default(),
            order: Order::Bytes,
            many: None,
        });
        Ok(names)
    }

    /// What a handle stands for.
    pub(crate) fn get(&self, id: u32) -> Option<&TableInfo> {
        self.blocks.get(id as usize / BLOCK)?.get()?[id as usize % BLOCK].get()
    }

    /// The handle for a number.
    pub(crate) fn handle(&self, number: u32) -> TableId {
        TableId { tag: self.tag, number }
    }

    /// The number of a handle, which must be of this environment.
    #[inline]
    pub(crate) fn number(&self, id: TableId) -> Result<u32> {
        match id.tag == self.tag {
            true => Ok(id.number),
            false => Err(Error::Invalid("the table handle belongs to another environment")),
        }
    }

    /// What a transaction keeps for a table of this name is kept under this number.
    pub(crate) fn same_name(&self, name: &[u8]) -> Option<u32> {
        let by_name = self.by_name.lock().unwrap_or_else(|e| e.into_inner());
        by_name.get(name).and_then(|handles| handles.first()).copied()
    }

    /// Adds an entry. `None`: the list is full. Called with the names locked, or before anybody
    /// else can.
    fn push(&self, info: TableInfo) -> Option<u32> {
        let id = self.count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let block = self.blocks.get(id / BLOCK)?;
        let block = block.get_or_init(|| (0..BLOCK).map(|_| OnceLock::new()).collect());
        block[id % BLOCK].set(info).expect("numbers are given out once");
        Some(id as u32)
    }

    /// The handle for a name with an order; the same one each time. A caller's function counts as
    /// the same only if it is the very same one.
    pub(crate) fn intern(&self, name: &[u8], order: &Order, many: Option<&Many>) -> Result<u32> {
        let mut by_name = self.by_name.lock().unwrap_or_else(|e| e.into_inner());
        let known = by_name.get(name).into_iter().flatten().copied();
        let same = known.into_iter().find(|&id| {
            self.get(id).is_some_and(|info| {
                same_order(&info.order, order) && same_many(info.many.as_ref(), many)
            })
        });
        if let Some(id) = same {
            return Ok(id);
        }
        let next = self.count.load(std::sync::atomic::Ordering::Relaxed) as u32;
        let same_name =
            by_name.get(name).and_then(|handles| handles.first()).copied().unwrap_or(next);
        let own_name = || Ok::<_, Error>(copied(name)?.into_boxed_slice());
        let (info_name, key) = (own_name()?, own_name()?);
        by_name.try_reserve(1)?;
        let handles = by_name.entry(key).or_default();
        handles.try_reserve(1)?;
        let info =
            TableInfo { same_name, name: info_name, order: order.clone(), many: many.cloned() };
        let id = self.push(info).ok_or(Error::Invalid("more than 32768 tables were opened"))?;
        handles.push(id);
        Ok(id)
    }
}

fn same_order(a: &Order, b: &Order) -> bool {
    match (a, b) {
        (Order::Custom(a), Order::Custom(b)) => Arc::ptr_eq(a, b),
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

fn same_many(a: Option<&Many>, b: Option<&Many>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.lengths == b.lengths && same_order(&a.order, &b.order),
        (a, b) => a.is_none() && b.is_none(),
    }
}
