//! Definitions of LSM tables.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use huon::{Codec, KeyCodec, Order, Result};

use crate::operator::{Combined, Operator};

/// The name of an LSM table, and the types of its keys and values: as [`huon::TableDef`] is for
/// ordinary tables. The names of the types are stored with the table, and it opens as no other;
/// [`huon::Bytes`] open as any type, and any as bytes.
///
/// Names of LSM tables are their own: an ordinary table may have the same one.
///
/// ```
/// use huon::{Str, U64};
/// use huon_lsm::LsmDef;
/// const EVENTS: LsmDef<Str, U64> = LsmDef::new("events");
/// let of_a_year: LsmDef<Str, U64> = LsmDef::named(format!("events-{}", 2026));
/// assert_eq!(of_a_year.name(), b"events-2026");
/// # let _ = EVENTS;
/// ```
///
/// Keys are in the order of bytes, and types of keys of another order are refused when a program is
/// compiled:
///
/// ```compile_fail
/// let events = huon_lsm::LsmDef::<huon::NativeU64, huon::Str>::new("events");
/// ```
#[must_use = "a definition opens nothing until it is passed to `Lsm::table`"]
pub struct LsmDef<K, V> {
    name: Cow<'static, [u8]>,
    operator: Option<Operator>,
    types: PhantomData<fn(K) -> V>,
}

impl<K: KeyCodec, V: Codec> LsmDef<K, V> {
    const KEYS_ARE_BYTES: bool = {
        let order = K::ORDER;
        let is_bytes = matches!(order, Order::Bytes);
        // A value with a destructor cannot be dropped where nothing runs.
        std::mem::forget(order);
        is_bytes
    };

    /// The LSM table called `name`.
    pub const fn new(name: &'static str) -> LsmDef<K, V> {
        const { assert!(Self::KEYS_ARE_BYTES, "keys of LSM tables are in the order of bytes") };
        LsmDef { name: Cow::Borrowed(name.as_bytes()), operator: None, types: PhantomData }
    }

    /// The same, with a name made at run time; any bytes but none at all.
    pub fn named(name: impl AsRef<[u8]>) -> LsmDef<K, V> {
        const { assert!(Self::KEYS_ARE_BYTES, "keys of LSM tables are in the order of bytes") };
        let name = Cow::Owned(name.as_ref().to_vec());
        LsmDef { name, operator: None, types: PhantomData }
    }

    /// With a merge operator, for [`LsmTable::merge`](crate::LsmTable::merge): `combine` is given
    /// the older and the newer of two values, and sets the one that they come to.
    ///
    /// It must be associative, since it is used as soon as two values meet, in any grouping; never
    /// in another order. It must be a pure function, the same in every process that gives this
    /// name: two functions of one name count as one. The name is stored with the table when that is
    /// made, and the table is then opened by definitions that name it and by tools: those whose
    /// values are [`huon::Bytes`], without an operator. They can do everything but what needs the
    /// function. That is an error then, and a compactor without it leaves the runs of such a table
    /// as they are.
    ///
    /// ```
    /// use huon::{Bytes, Env, Str, U64};
    /// use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// const HITS: LsmDef<Str, U64> = LsmDef::new("hits");
    /// let lsm = Lsm::open(&env)?;
    /// let hits = lsm.table(&HITS.merged_by("sum", |a, b, sum| sum.set(a.saturating_add(b))))?;
    /// // The last 22 bytes of a log.
    /// let tails = LsmDef::<Str, Bytes>::new("tails").merged_by("tail", |log, more, tail| {
    ///     let log = [log, more].concat();
    ///     tail.set(&log[log.len().saturating_sub(22)..])
    /// });
    /// let tails = lsm.table(&tails)?;
    /// for round in 0..3 {
    ///     env.update(|txn| {
    ///         hits.merge(txn, "index", 7)?;
    ///         tails.merge(txn, "index", format!("{round}: 7 hits; ").as_bytes())
    ///     })?;
    /// }
    /// let txn = env.read()?;
    /// assert_eq!(hits.get(&txn, "index")?, Some(21));
    /// assert_eq!(tails.get(&txn, "index")?, Some(&b"1: 7 hits; 2: 7 hits; "[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// An error of `combine` is one of the call that needs the value: a read, the commit, or the
    /// step of a merge. A panic goes on to that call's caller. Nothing is changed then, and what
    /// was merged stays as it was; where it comes of the merges after a commit, it is counted
    /// ([`LsmStat::failures`](crate::LsmStat::failures)), as the commit has succeeded.
    pub fn merged_by<F>(mut self, name: &str, combine: F) -> LsmDef<K, V>
    where
        F: Fn(V::Out<'_>, V::Out<'_>, &mut Combined<V>) -> Result<()> + Send + Sync + 'static,
    {
        self.operator = Some(Operator::new::<V, F>(name, combine));
        self
    }

    pub(crate) fn operator(&self) -> Option<&Operator> {
        self.operator.as_ref()
    }

    /// The table's name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }
}

impl<K, V> fmt::Debug for LsmDef<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LsmDef").field("name", &self.name.escape_ascii().to_string()).finish()
    }
}
