//! Values that are kept beside their table.

use std::fmt;
use std::marker::PhantomData;

use crate::error::Result;
use crate::table::codec::{Bytes, Codec};

/// A value that was taken out of a table: its bytes, and what they stand for.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
/// t.put(&mut txn, "ann", "first")?;
/// let old = t.replace(&mut txn, "ann", "second")?.expect("it was there");
/// assert_eq!(old.get()?, "first");
/// assert_eq!(old.bytes(), b"first");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Owned<V = Bytes> {
    bytes: Vec<u8>,
    types: PhantomData<fn() -> V>,
}

impl<V> Owned<V> {
    pub(crate) fn of(bytes: Vec<u8>) -> Owned<V> {
        Owned { bytes, types: PhantomData }
    }

    /// A value of these bytes, for layers on top of Huon that take values out of their own tables.
    ///
    /// ```
    /// let owned = huon::Owned::<huon::Str>::from_bytes(b"text".to_vec());
    /// assert_eq!(owned.get()?, "text");
    /// # Ok::<(), huon::Error>(())
    /// ```
    pub fn from_bytes(bytes: Vec<u8>) -> Owned<V> {
        Owned::of(bytes)
    }

    /// The bytes of the value.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of the value, without a copy.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::Bytes>::new("t"))?;
    /// t.put(&mut txn, "ann", b"first")?;
    /// let taken: Option<Vec<u8>> = t.take(&mut txn, "ann")?.map(huon::Owned::into_bytes);
    /// assert_eq!(taken.as_deref(), Some(&b"first"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl<V: Codec> Owned<V> {
    /// The value; it may borrow this.
    ///
    /// # Errors
    /// [`Error::Decode`](crate::Error::Decode) from the codec.
    pub fn get(&self) -> Result<V::Out<'_>> {
        V::decode(&self.bytes)
    }
}

impl<V> Clone for Owned<V> {
    fn clone(&self) -> Self {
        Owned::of(self.bytes.clone())
    }
}

impl<V> PartialEq for Owned<V> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<V> Eq for Owned<V> {}

impl<V> fmt::Debug for Owned<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owned({})", self.bytes.escape_ascii())
    }
}
