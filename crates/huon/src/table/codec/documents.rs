//! Values of any type that `serde` knows: with the feature `serde`.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Codec, Scratch};
use crate::error::{Error, Result};

/// A value as JSON, which people and other programs can read: `huon ls` shows it as it is.
///
/// The type of the value is not kept, only that it is JSON: fields may be added to it that have a
/// default.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// use huon::{Json, Str, TableDef};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct User {
///     name: String,
///     visits: u32,
/// }
///
/// let users = txn.create_table(&TableDef::<Str, Json<User>>::new("users"))?;
/// let ann = User { name: "Ann".into(), visits: 3 };
/// users.put(&mut txn, "ann", &ann)?;
/// assert_eq!(users.get(&txn, "ann")?, Some(ann));
/// assert_eq!(users.raw().get(&txn, b"ann")?, Some(&br#"{"name":"Ann","visits":3}"#[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Json<T>(PhantomData<fn() -> T>);

impl<T: Serialize + DeserializeOwned + 'static> Codec for Json<T> {
    type In<'a> = &'a T;
    type Out<'t> = T;
    const NAME: &'static str = "json";

    fn encode<'e>(item: &'e &T, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
        let buffer = scratch.buffer();
        serde_json::to_writer(&mut *buffer, item).map_err(|error| Error::Encode(error.into()))?;
        Ok(buffer)
    }

    fn decode(bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|error| Error::Decode(error.into()))
    }
}

/// A value in the bytes of [postcard](https://postcard.jamesmunns.com/wire-format), which are few.
///
/// The type of the value is not kept, only that it is of this form: one whose fields change cannot
/// be read any more.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// use huon::{Postcard, TableDef, U64};
/// type Point = (i32, i32);
/// let points = txn.create_table(&TableDef::<U64, Postcard<Vec<Point>>>::new("points"))?;
/// points.put(&mut txn, 1, &vec![(1, 2), (3, -4)])?;
/// assert_eq!(points.get(&txn, 1)?, Some(vec![(1, 2), (3, -4)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Postcard<T>(PhantomData<fn() -> T>);

impl<T: Serialize + DeserializeOwned + 'static> Codec for Postcard<T> {
    type In<'a> = &'a T;
    type Out<'t> = T;
    const NAME: &'static str = "postcard";

    fn encode<'e>(item: &'e &T, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
        let buffer = scratch.buffer();
        let written = postcard::to_extend(*item, std::mem::take(buffer));
        *buffer = written.map_err(|error| Error::Encode(Box::new(error)))?;
        Ok(buffer)
    }

    fn decode(bytes: &[u8]) -> Result<T> {
        postcard::from_bytes(bytes).map_err(|error| Error::Decode(Box::new(error)))
    }
}
