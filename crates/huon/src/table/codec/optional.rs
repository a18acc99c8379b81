//! Values that may be missing.

use std::borrow::Cow;

use super::tuple::joined;
use super::{Codec, KeyCodec, Scratch, TuplePart};
use crate::error::{Error, Result};

/// What may be missing: a byte 0 for nothing, which sorts first, or a byte 1 before the item.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// let t = txn.create_table(&huon::TableDef::<huon::Str, Option<huon::U64>>::new("t"))?;
/// t.put(&mut txn, "ann", Some(7))?;
/// t.put(&mut txn, "bob", None)?;
/// assert_eq!(t.get(&txn, "ann")?, Some(Some(7)));
/// assert_eq!(t.get(&txn, "bob")?, Some(None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: Codec> Codec for Option<T> {
    type In<'a> = Option<T::In<'a>>;
    type Out<'t> = Option<T::Out<'t>>;
    const NAME: &'static str = OptionName::<T>::TEXT;

    fn encode<'e>(item: &'e Option<T::In<'_>>, scratch: &'e mut Scratch) -> Result<&'e [u8]> {
        let Some(item) = item else { return Ok(&[0]) };
        let mut own = Scratch::default();
        scratch.begin();
        scratch.add(&[1]);
        scratch.add(T::encode(item, &mut own)?);
        Ok(scratch.added())
    }

    fn decode(bytes: &[u8]) -> Result<Option<T::Out<'_>>> {
        match bytes {
            [0] => Ok(None),
            [1, item @ ..] => T::decode(item).map(Some),
            _ => Err(neither()),
        }
    }
}

impl<T: TuplePart> KeyCodec for Option<T> {}

impl<T: TuplePart> TuplePart for Option<T> {
    type Part<'t> = Option<T::Part<'t>>;

    fn part(bytes: Cow<'_, [u8]>) -> Result<Option<T::Part<'_>>> {
        match &*bytes {
            [0] => return Ok(None),
            [1, ..] => {}
            _ => return Err(neither()),
        }
        let item = match bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[1..]),
            Cow::Owned(mut bytes) => {
                bytes.remove(0);
                Cow::Owned(bytes)
            }
        };
        T::part(item).map(Some)
    }
}

#[cold]
fn neither() -> Error {
    Error::Decode("what may be missing begins with a byte of 0 or 1".into())
}

/// The name of its type, made when the program is compiled.
struct OptionName<T>(T);

impl<T: Codec> OptionName<T> {
    const ROOM: ([u8; 256], usize) = joined("option<", &[T::NAME], ">");

    const TEXT: &'static str = match str::from_utf8(Self::ROOM.0.split_at(Self::ROOM.1).0) {
        Ok(text) => text,
        Err(_) => panic!("names of types are text"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::codec::{Str, U64, Unit};

    fn there_and_back<T: Codec>(item: T::In<'_>) -> Vec<u8> {
        T::encode(&item, &mut Scratch::default()).unwrap().to_vec()
    }

    #[test]
    fn what_is_missing_comes_first() {
        let all = [
            there_and_back::<Option<Str>>(None),
            there_and_back::<Option<Str>>(Some("")),
            there_and_back::<Option<Str>>(Some("\0")),
            there_and_back::<Option<Str>>(Some("fifteen letters")),
            there_and_back::<Option<Str>>(Some("sixteen letters!")),
        ];
        assert!(all.is_sorted());
        let items = [None, Some(""), Some("\0"), Some("fifteen letters"), Some("sixteen letters!")];
        for (bytes, item) in all.iter().zip(items) {
            assert_eq!(<Option<Str>>::decode(bytes).unwrap(), item);
        }
        assert!(<Option<U64>>::decode(&[0, 0]).is_err() && <Option<U64>>::decode(&[]).is_err());
        assert_eq!(
            <Option<Unit>>::decode(&there_and_back::<Option<Unit>>(Some(()))).unwrap(),
            Some(())
        );
        assert_eq!(<Option<Option<U64>>>::NAME, "option<option<u64>>");
    }
}
