//! Definitions of LSM tables.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use huon::{Codec, KeyCodec, Order};

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
        LsmDef { name: Cow::Borrowed(name.as_bytes()), types: PhantomData }
    }

    /// The same, with a name made at run time; any bytes but none at all.
    pub fn named(name: impl AsRef<[u8]>) -> LsmDef<K, V> {
        const { assert!(Self::KEYS_ARE_BYTES, "keys of LSM tables are in the order of bytes") };
        LsmDef { name: Cow::Owned(name.as_ref().to_vec()), types: PhantomData }
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
