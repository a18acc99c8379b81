//! Merge operators: what an operand makes of the value that its key had before.
//!
//! L9. An operand hides nothing. What a key has is its newest record that is no operand, and onto
//!     it all operands above, from the oldest to the newest; the oldest of them itself where there
//!     is none. Wherever two records of a key become one, an operand is so folded onto the older
//!     one; it becomes a value only onto one, onto a tombstone, or where nothing older is left.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use huon::{AnyTxn, Codec, Error, Result, Scratch};

use crate::planted::{self, Bug};
use crate::record::{Says, check_part, is_operand, merged_until, says, tag, tagged};

/// What a merge operator makes of two values; see [`LsmDef::merged_by`](crate::LsmDef::merged_by).
#[derive(Debug)]
pub struct Combined<V> {
    value: Option<Vec<u8>>,
    types: PhantomData<fn(V)>,
}

impl<V: Codec> Combined<V> {
    /// They become this one.
    ///
    /// # Errors
    /// [`Error::Encode`] from the codec; [`Error::ValueTooLong`].
    pub fn set(&mut self, value: V::In<'_>) -> Result<()> {
        let mut scratch = Scratch::default();
        let value = V::encode(&value, &mut scratch)?;
        if value.len() >= huon::limits::VALUE_BYTES_MAX {
            return Err(Error::ValueTooLong);
        }
        self.value = Some(value.to_vec());
        Ok(())
    }
}

type Combine = dyn Fn(&[u8], &[u8]) -> Result<Vec<u8>> + Send + Sync;

/// A merge operator.
#[derive(Clone)]
pub(crate) struct Operator(Arc<Named<Combine>>);

struct Named<F: ?Sized> {
    name: String,
    combine: F,
}

impl Operator {
    pub(crate) fn new<V: Codec, F>(name: &str, combine: F) -> Operator
    where
        F: Fn(V::Out<'_>, V::Out<'_>, &mut Combined<V>) -> Result<()> + Send + Sync + 'static,
    {
        let combine = move |older: &[u8], newer: &[u8]| {
            let mut combined = Combined { value: None, types: PhantomData };
            combine(V::decode(older)?, V::decode(newer)?, &mut combined)?;
            combined.value.ok_or(Error::Invalid("a merge operator has set no value"))
        };
        Operator(Arc::new(Named { name: name.to_owned(), combine }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    fn combine(&self, older: &[u8], newer: &[u8]) -> Result<Vec<u8>> {
        let is_turned = planted::is(Bug::OperandsTurned);
        if is_turned { (self.0.combine)(newer, older) } else { (self.0.combine)(older, newer) }
    }

    /// What an operand makes of an older record of its key; all with their tags.
    pub(crate) fn fold(&self, older: &[u8], operand: &[u8]) -> Result<Vec<u8>> {
        assert!(is_operand(operand), "L9: only operands are folded");
        let operand = &operand[..operand.len() - 1];
        Ok(match says(older)? {
            Says::Nothing => tagged(operand.to_vec(), tag::PUT),
            Says::Value(value) => tagged(self.combine(value, operand)?, tag::PUT),
            Says::Operand(earlier) => tagged(self.operand(earlier, operand)?, tag::OPERAND),
            Says::Until { value, until, operand: None } => merged_until(value, until, operand),
            Says::Until { value, until, operand: Some(earlier) } => {
                merged_until(value, until, &self.operand(earlier, operand)?)
            }
        })
    }

    /// The one operand that two come to.
    fn operand(&self, earlier: &[u8], later: &[u8]) -> Result<Vec<u8>> {
        let both = self.combine(earlier, later)?;
        check_part(&both).map(|()| both)
    }
}

/// The records of a key that count, from the newest on: operands, and what they were merged onto.
#[derive(Default)]
pub(crate) struct Chain<'t> {
    newest: Option<&'t [u8]>,
    older: Vec<&'t [u8]>,
}

impl<'t> Chain<'t> {
    /// Adds an older record; whether one that is older still is wanted.
    #[inline]
    pub(crate) fn add(&mut self, tagged: &'t [u8]) -> bool {
        match self.newest {
            None => self.newest = Some(tagged),
            Some(_) => self.older.push(tagged),
        }
        is_operand(tagged)
    }

    /// The value of the key. `folder` is asked for where records are to be folded.
    #[inline]
    pub(crate) fn value(
        &self,
        folder: impl FnOnce() -> Result<Folder<'t>>,
    ) -> Result<Option<&'t [u8]>> {
        let Some(newest) = self.newest else { return Ok(None) };
        match says(newest)? {
            Says::Value(value) => Ok(Some(value)),
            Says::Nothing => Ok(None),
            Says::Operand(_) | Says::Until { .. } => {
                let folder = folder()?;
                folder.value(folder.fold(self)?.unwrap_or(newest))
            }
        }
    }
}

/// Folds the records of keys for readers of a transaction.
#[derive(Clone, Default)]
pub(crate) struct Folder<'t>(Option<(Operator, &'t Kept)>);

impl<'t> Folder<'t> {
    /// `None`: nothing is expected to be folded.
    pub(crate) fn new(operator: Option<&Operator>, kept: &'t Kept) -> Folder<'t> {
        Folder(operator.map(|operator| (operator.clone(), kept)))
    }

    pub(crate) fn in_txn(operator: Option<&Operator>, txn: AnyTxn<'t>) -> Result<Folder<'t>> {
        let Some(operator) = operator else { return Ok(Folder(None)) };
        let make = || Ok(Kept::default());
        let kept = match txn {
            AnyTxn::Read(txn) => txn.attach(make)?,
            AnyTxn::Write(txn) => txn.attach(make)?,
        };
        Ok(Folder::new(Some(operator), kept))
    }

    fn parts(&self) -> Result<(&Operator, &'t Kept)> {
        match &self.0 {
            Some((operator, kept)) => Ok((operator, kept)),
            None => Err(no_operator()),
        }
    }

    /// The one record that a chain makes.
    pub(crate) fn fold(&self, chain: &Chain<'t>) -> Result<Option<&'t [u8]>> {
        let Some((oldest, others)) = chain.older.split_last() else { return Ok(chain.newest) };
        let (operator, kept) = self.parts()?;
        let mut folded = Cow::Borrowed(*oldest);
        for operand in others.iter().rev().chain(&chain.newest) {
            folded = operator.fold(&folded, operand)?.into();
        }
        Ok(Some(kept.keep(folded.into_owned())))
    }

    /// The value of a key whose only record this is.
    pub(crate) fn value(&self, tagged: &'t [u8]) -> Result<Option<&'t [u8]>> {
        match says(tagged)? {
            Says::Nothing => Ok(None),
            Says::Value(value) | Says::Operand(value) => Ok(Some(value)),
            Says::Until { value, operand: None, .. } => Ok(Some(value)),
            Says::Until { value, operand: Some(operand), .. } => {
                let (operator, kept) = self.parts()?;
                Ok(Some(kept.keep(operator.combine(value, operand)?)))
            }
        }
    }
}

/// The error of a process that would have to fold and cannot.
#[cold]
pub(crate) fn no_operator() -> Error {
    Error::Invalid("the LSM table is merged by an operator that was not given with its definition")
}

/// The error of a process that merges by another operator than the one that is stored.
#[cold]
pub(crate) fn merged_otherwise(stored: &str, wanted: &str) -> Error {
    let by = |name: &str| match name {
        "" => "no operator".to_owned(),
        name => format!("the operator \"{name}\""),
    };
    let text = format!("the LSM table is merged by {}, not by {}", by(stored), by(wanted));
    Error::Decode(text.into())
}

/// Where a value lies.
type Place = OnceLock<Box<[u8]>>;

/// Values that were folded, which stay where they are as long as their transaction lives.
#[derive(Default)]
pub(crate) struct Kept {
    /// Each level has room for twice as many as the one before.
    levels: [OnceLock<Box<[Place]>>; 32],
    count: AtomicUsize,
}

impl Kept {
    fn keep(&self, bytes: Vec<u8>) -> &[u8] {
        let number = 1 + self.count.fetch_add(1, Ordering::Relaxed);
        let level = number.ilog2() as usize;
        let room = || (0..1 << level).map(|_| Place::new()).collect();
        let places = self.levels[level].get_or_init(room);
        places[number - (1 << level)].get_or_init(|| bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use huon::{Bytes, U64};

    use super::*;
    use crate::record::timed;

    fn append() -> Operator {
        Operator::new::<Bytes, _>("append", |a, b, both| both.set(&[a, b].concat()))
    }

    #[test]
    fn an_operand_is_folded_onto_what_is_older() {
        let append = append();
        let until = |until| tagged(timed(b"a", until), tag::PUT_UNTIL);
        for (older, folded) in [
            (&b"a\0"[..], &b"ab\0"[..]),
            (b"a\x02", b"ab\x02"),
            (b"\x01", b"b\0"),
            (&until(0), b"b\0"),
            (&until(u64::MAX), &merged_until(b"a", u64::MAX, b"b")),
            (&merged_until(b"a", 0, b"c"), b"cb\0"),
            (&merged_until(b"a", u64::MAX, b"c"), &merged_until(b"a", u64::MAX, b"cb")),
        ] {
            assert_eq!(append.fold(older, b"b\x02").unwrap(), folded, "{older:?}");
        }
        assert!(append.fold(b"a\x05", b"b\x02").is_err());
    }

    /// Folded at once or in any parts, records say the same, before and after the time is over.
    #[test]
    fn parts_of_a_chain_may_be_folded_first() {
        let (append, kept) = (append(), Kept::default());
        let folder = Folder::new(Some(&append), &kept);
        let base = [&b"x\0"[..], b"\x01", b"x\x02", &tagged(timed(b"x", u64::MAX), tag::PUT_UNTIL)];
        for base in base {
            let records = [&b"d\x02"[..], b"c\x02", b"b\x02", b"a\x02", base];
            let value = |records: &[&'static [u8]]| {
                let mut chain = Chain::default();
                let wanted = records.iter().all(|record| chain.add(record));
                assert_eq!(wanted, is_operand(base));
                chain.value(|| Ok(folder.clone())).unwrap().unwrap().to_vec()
            };
            let records: Vec<&'static [u8]> =
                records.iter().map(|record| &*record.to_vec().leak()).collect();
            let whole = value(&records);
            assert_eq!(whole, if base == b"\x01" { &b"abcd"[..] } else { b"xabcd" });
            for from in 0..4 {
                for to in from + 1..5 {
                    let mut part = Chain::default();
                    assert!(records[from..to].iter().all(|record| part.add(record)));
                    part.add(records[to]);
                    let folded = folder.fold(&part).unwrap().unwrap().to_vec().leak();
                    let mut others = records.clone();
                    others.splice(from..=to, [&*folded]);
                    assert_eq!(value(&others), whole, "{from} to {to}");
                }
            }
        }
    }

    #[test]
    fn what_an_operator_does_not_give_is_an_error() {
        let lazy = Operator::new::<U64, _>("lazy", |_, _, _| Ok(()));
        assert!(matches!(lazy.combine(&[0; 8], &[0; 8]), Err(Error::Invalid(_))));
        assert!(matches!(lazy.combine(&[0; 7], &[0; 8]), Err(Error::Decode(_))));
        let none = Folder(None);
        let mut chain = Chain::default();
        assert!(chain.add(b"a\x02"));
        assert_eq!(chain.value(|| Ok(none.clone())).unwrap(), Some(&b"a"[..]), "nothing to fold");
        assert!(!chain.add(b"b\0"));
        assert!(matches!(chain.value(|| Ok(none)), Err(Error::Invalid(_))));
    }

    #[test]
    fn what_is_kept_stays_where_it_is() {
        let kept = Kept::default();
        let all: Vec<&[u8]> = (0..1000u32).map(|n| kept.keep(n.to_le_bytes().to_vec())).collect();
        assert!(all.iter().zip(0u32..).all(|(bytes, n)| **bytes == n.to_le_bytes()));
    }
}
