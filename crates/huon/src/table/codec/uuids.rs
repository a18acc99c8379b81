//! UUIDs: with the feature `uuid`.

use std::borrow::Cow;

use uuid::Uuid;

use super::{Codec, KeyCodec, Scratch, TuplePart};
use crate::error::{Error, Result};

/// The 16 bytes of a UUID; those of version 7 sort by their time.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// use uuid::Uuid;
/// let sessions = txn.create_table(&huon::TableDef::<Uuid, huon::Str>::new("sessions"))?;
/// let id = Uuid::from_u128(7);
/// sessions.put(&mut txn, id, "ann")?;
/// assert_eq!(sessions.first(&txn)?, Some((id, "ann")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Codec for Uuid {
    type In<'a> = Uuid;
    type Out<'t> = Uuid;
    const NAME: &'static str = "uuid";

    #[inline]
    fn encode<'e>(item: &'e Uuid, _: &'e mut Scratch) -> Result<&'e [u8]> {
        Ok(item.as_bytes())
    }

    fn decode(bytes: &[u8]) -> Result<Uuid> {
        Uuid::from_slice(bytes).map_err(|error| Error::Decode(Box::new(error)))
    }
}

impl KeyCodec for Uuid {
    const BYTES: Option<u32> = Some(16);
}

impl TuplePart for Uuid {
    type Part<'t> = Uuid;

    fn part(bytes: Cow<'_, [u8]>) -> Result<Uuid> {
        Uuid::decode(&bytes)
    }
}
