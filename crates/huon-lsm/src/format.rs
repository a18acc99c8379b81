//! How an LSM table is stored: names, keys and values of its manifest, and tags of values.
//!
//! An LSM table `T` lies in ordinary tables of the file. The manifest, `\0lsm/T/m`, has these
//! records; numbers in keys are big-endian, in values little-endian:
//!
//! | key | value |
//! |---|---|
//! | `00`, number of the run | [`RunRecord`] |
//! | `01`, number of the run | its filter: see [`crate::filter`] |
//! | `02`, lane | [`Claim`]: a merge that has begun |
//! | `03`, number | [`DeleteRecord`]: a range of keys was deleted |
//! | `FE` | [`Written`] |
//! | `FF` | [`Header`] |
//!
//! Runs are the tables `\0lsm/T/r/NNN`; [`crate::record`] has their values.

use huon::{Bytes, Error, Result, TableDef};

/// The format of manifest and runs.
const VERSION: u16 = 1;

/// The same with a merge operator, whose operands programs of version 1 would not understand.
const VERSION_MERGED: u16 = 2;

/// All counts are below it.
const COUNT_MAX: u64 = 1 << 48;

/// Bounds of runs are cut to so many bytes.
const BOUND_BYTES: usize = 64;

/// Records of the manifest, by the first byte of the key.
pub(crate) mod kind {
    pub(crate) const RUN: u8 = 0;
    pub(crate) const FILTER: u8 = 1;
    pub(crate) const CLAIM: u8 = 2;
    pub(crate) const DELETE: u8 = 3;
    pub(crate) const WRITTEN: u8 = 0xFE;
    pub(crate) const HEADER: u8 = 0xFF;
}

/// A table of the file.
pub(crate) type RawDef = TableDef<Bytes, Bytes>;

pub(crate) fn manifest_def(name: &[u8]) -> RawDef {
    RawDef::named([&b"\0lsm/"[..], name, b"/m"].concat())
}

pub(crate) fn run_def(name: &[u8], slot: u32) -> RawDef {
    RawDef::named([&run_prefix(name)[..], format!("{slot:03}").as_bytes()].concat())
}

/// The names of the tables of runs begin with it.
pub(crate) fn run_prefix(name: &[u8]) -> Vec<u8> {
    [&b"\0lsm/"[..], name, b"/r/"].concat()
}

/// The LSM table whose manifest has this name.
pub(crate) fn name_of_manifest(table: &[u8]) -> Option<&[u8]> {
    table.strip_prefix(b"\0lsm/")?.strip_suffix(b"/m")
}

pub(crate) fn key(kind: u8, number: u64) -> [u8; 9] {
    let mut key = [kind; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

pub(crate) fn number_of(key: &[u8]) -> Result<u64> {
    let bytes = key.get(1..).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u64::from_be_bytes).ok_or_else(|| damaged("a key that is no number"))
}

/// The error for a manifest or a value that Huon's checksums pass and that no version has written.
#[cold]
pub(crate) fn damaged(what: &'static str) -> Error {
    Error::Decode(format!("an LSM table is damaged: {what}").into())
}

/// Reading fixed fields one after the other.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn take(&mut self, bytes: usize) -> Result<&'b [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(bytes).ok_or_else(|| damaged("a record that is too short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("it was taken at that length"))
    }

    fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of bytes or records, which no file has more of. So sums of them are numbers, too.
    fn count(&mut self) -> Result<u64> {
        let count = self.u64()?;
        if count < COUNT_MAX { Ok(count) } else { Err(damaged("a count that is too high")) }
    }

    fn bytes(&mut self) -> Result<&'b [u8]> {
        let bytes = self.u32()?;
        self.take(bytes as usize)
    }

    fn end(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(damaged("a record that is too long")) }
    }
}

fn add_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend((bytes.len() as u32).to_le_bytes());
    to.extend(bytes);
}

/// What all processes agree on for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) fan: u16,
    pub(crate) filter_bits: u16,
    /// Batches of fewer records go to the open run.
    pub(crate) small: u32,
    /// The open run is frozen at this size.
    pub(crate) open_bytes: u32,
    /// Names of the types of keys and values.
    pub(crate) types: (String, String),
    /// Name of the merge operator; empty: there is none.
    pub(crate) operator: String,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let is_merged = !self.operator.is_empty();
        let version = if is_merged { VERSION_MERGED } else { VERSION };
        let mut bytes = version.to_le_bytes().to_vec();
        bytes.extend(self.fan.to_le_bytes());
        bytes.extend(self.filter_bits.to_le_bytes());
        bytes.extend(self.small.to_le_bytes());
        bytes.extend(self.open_bytes.to_le_bytes());
        add_bytes(&mut bytes, self.types.0.as_bytes());
        add_bytes(&mut bytes, self.types.1.as_bytes());
        if is_merged {
            add_bytes(&mut bytes, self.operator.as_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Header> {
        let mut fields = Fields(bytes);
        let is_merged = match fields.u16()? {
            VERSION => false,
            VERSION_MERGED => true,
            _ => return Err(Error::Version("the LSM table is of another version".into())),
        };
        let name = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec()).map_err(|_| damaged("the name of a type"))
        };
        let header = Header {
            fan: fields.u16()?,
            filter_bits: fields.u16()?,
            small: fields.u32()?,
            open_bytes: fields.u32()?,
            types: (name(fields.bytes()?)?, name(fields.bytes()?)?),
            operator: if is_merged { name(fields.bytes()?)? } else { String::new() },
        };
        fields.end()?;
        let is_sound =
            header.fan >= 2 && header.filter_bits <= 64 && is_merged != header.operator.is_empty();
        if is_sound { Ok(header) } else { Err(damaged("options that no version writes")) }
    }
}

/// What becomes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Small batches are put into it.
    Open,
    /// It takes no more records.
    Frozen,
}

/// The lowest and the highest key of a run, cut to 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Bounds {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Vec<u8>,
}

impl Bounds {
    pub(crate) fn of(low: &[u8], high: &[u8]) -> Bounds {
        let cut = |key: &[u8]| key[..key.len().min(BOUND_BYTES)].to_vec();
        Bounds { low: cut(low), high: cut(high) }
    }

    /// Whether a key is above all keys of the run for sure.
    pub(crate) fn is_below(&self, key: &[u8]) -> bool {
        let cut = self.high.len() == BOUND_BYTES && key.starts_with(&self.high);
        !cut && key > &self.high[..]
    }

    /// Whether a key is below all keys of the run for sure.
    pub(crate) fn is_above(&self, key: &[u8]) -> bool {
        key < &self.low[..]
    }

    /// Whether a key may lie among those of the run.
    #[inline]
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        !self.is_above(key) && !self.is_below(key)
    }
}

/// A run, as the manifest has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunRecord {
    pub(crate) id: u64,
    pub(crate) state: State,
    pub(crate) slot: u32,
    pub(crate) records: u64,
    pub(crate) tombstones: u64,
    pub(crate) bytes: u64,
    /// Deletes of ranges up to this number are made in it.
    pub(crate) deletes_made: u64,
    pub(crate) bounds: Bounds,
    /// Keys above this one are not in the filter: they were appended since. Empty: all are.
    pub(crate) filtered_to: Vec<u8>,
}

impl RunRecord {
    /// Of an open run that is empty.
    pub(crate) fn open(id: u64, slot: u32) -> RunRecord {
        RunRecord {
            id,
            state: State::Open,
            slot,
            records: 0,
            tombstones: 0,
            bytes: 0,
            deletes_made: 0,
            bounds: Bounds::default(),
            filtered_to: Vec::new(),
        }
    }

    /// Of the same run when so many of its lowest records are gone, and `low` is the lowest of the
    /// others. Tombstones and bytes are taken to be spread evenly, since counting them would cost a
    /// look at each record; rounded up, so that none are named only where there are none.
    pub(crate) fn without_lowest(&self, gone: u64, low: &[u8]) -> RunRecord {
        let records = self.records.saturating_sub(gone);
        let share = |all: u64| {
            let of_all = u128::from(all) * u128::from(records);
            of_all.div_ceil(u128::from(self.records.max(1))) as u64
        };
        let bounds = Bounds { high: self.bounds.high.clone(), ..Bounds::of(low, &[]) };
        let (tombstones, bytes) = (share(self.tombstones), share(self.bytes));
        RunRecord { records, tombstones, bytes, bounds, ..self.clone() }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.id.to_le_bytes().to_vec();
        bytes.push(match self.state {
            State::Open => 0,
            State::Frozen => 1,
        });
        bytes.extend(self.slot.to_le_bytes());
        for number in [self.records, self.tombstones, self.bytes, self.deletes_made] {
            bytes.extend(number.to_le_bytes());
        }
        add_bytes(&mut bytes, &self.bounds.low);
        add_bytes(&mut bytes, &self.bounds.high);
        add_bytes(&mut bytes, &self.filtered_to);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<RunRecord> {
        let mut fields = Fields(bytes);
        let record = RunRecord {
            id: fields.u64()?,
            state: match fields.u8()? {
                0 => State::Open,
                1 => State::Frozen,
                _ => return Err(damaged("the state of a run")),
            },
            slot: fields.u32()?,
            records: fields.count()?,
            tombstones: fields.count()?,
            bytes: fields.count()?,
            deletes_made: fields.u64()?,
            bounds: Bounds { low: fields.bytes()?.to_vec(), high: fields.bytes()?.to_vec() },
            filtered_to: fields.bytes()?.to_vec(),
        };
        fields.end()?;
        if record.tombstones > record.records {
            return Err(damaged("a run has more tombstones than records"));
        }
        Ok(record)
    }
}

/// A range of keys that was deleted, in all runs of lower numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeleteRecord {
    /// The lowest key of the range.
    pub(crate) from: Vec<u8>,
    /// The lowest key above the range. `None`: it has no end.
    pub(crate) to: Option<Vec<u8>>,
}

impl DeleteRecord {
    #[inline]
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        key >= &self.from[..] && self.to.as_deref().is_none_or(|to| key < to)
    }

    /// Whether any key between the bounds may be covered.
    pub(crate) fn meets(&self, bounds: &Bounds) -> bool {
        !bounds.is_below(&self.from) && self.to.as_deref().is_none_or(|to| to > &bounds.low[..])
    }

    /// Whether all keys between the bounds are covered for sure.
    pub(crate) fn holds_all_of(&self, bounds: &Bounds) -> bool {
        self.from <= bounds.low && self.to.as_deref().is_none_or(|to| bounds.is_below(to))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.to.is_some())];
        add_bytes(&mut bytes, &self.from);
        add_bytes(&mut bytes, self.to.as_deref().unwrap_or_default());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<DeleteRecord> {
        let mut fields = Fields(bytes);
        let has_end = fields.u8()?;
        let (from, to) = (fields.bytes()?.to_vec(), fields.bytes()?.to_vec());
        fields.end()?;
        let to = match has_end {
            0 if to.is_empty() => None,
            1 => Some(to),
            _ => return Err(damaged("the end of a deleted range")),
        };
        Ok(DeleteRecord { from, to })
    }
}

/// A merge that has begun: its output, which has the keys up to its last one, and its inputs, which
/// have those above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// A random number of the compactor that made the last step.
    pub(crate) owner: u64,
    /// Until then, in milliseconds since 1970, others leave the merge to it.
    pub(crate) until: u64,
    /// The oldest run takes part, so that deleted keys leave nothing behind.
    pub(crate) drops_tombstones: bool,
    /// Deletes of ranges that were there when it began.
    pub(crate) deletes_made: u64,
    /// The id of the run that it fills: another one after each step.
    pub(crate) output: u64,
    /// Ids of the runs that are left, from the newest to the oldest.
    pub(crate) inputs: Vec<u64>,
}

impl Claim {
    /// Whether the run takes part.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.output == id || self.inputs.contains(&id)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.owner.to_le_bytes().to_vec();
        bytes.extend(self.until.to_le_bytes());
        bytes.push(u8::from(self.drops_tombstones));
        bytes.extend(self.deletes_made.to_le_bytes());
        bytes.extend(self.output.to_le_bytes());
        bytes.extend((self.inputs.len() as u32).to_le_bytes());
        self.inputs.iter().for_each(|id| bytes.extend(id.to_le_bytes()));
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Claim> {
        let mut fields = Fields(bytes);
        let (owner, until) = (fields.u64()?, fields.u64()?);
        let drops_tombstones = match fields.u8()? {
            0 => false,
            1 => true,
            _ => return Err(damaged("a claim")),
        };
        let (deletes_made, output) = (fields.u64()?, fields.u64()?);
        let count = fields.u32()? as usize;
        let inputs = fields.take(count.saturating_mul(8))?.as_chunks::<8>().0;
        let inputs = inputs.iter().map(|id| u64::from_le_bytes(*id)).collect();
        fields.end()?;
        Ok(Claim { owner, until, drops_tombstones, deletes_made, output, inputs })
    }
}

/// What commits and merges have written since the table was made, in bytes of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) put: u64,
    pub(crate) merged: u64,
}

impl Written {
    /// With more of both. At the highest count they stay.
    pub(crate) fn and(self, put: u64, merged: u64) -> Written {
        let sum = |a: u64, b: u64| a.saturating_add(b).min(COUNT_MAX - 1);
        Written { put: sum(self.put, put), merged: sum(self.merged, merged) }
    }

    pub(crate) fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.put.to_le_bytes());
        bytes[8..].copy_from_slice(&self.merged.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Written> {
        let mut fields = Fields(bytes);
        let written = Written { put: fields.count()?, merged: fields.count()? };
        fields.end()?;
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunRecord {
        RunRecord {
            id: 7,
            state: State::Frozen,
            slot: 9,
            records: 1 << 40,
            tombstones: 3,
            bytes: 5,
            deletes_made: 11,
            bounds: Bounds::of(b"a", &[b'z'; 100]),
            filtered_to: b"q".to_vec(),
        }
    }

    fn claim() -> Claim {
        let (owner, until, drops_tombstones) = (1, 2, true);
        Claim { owner, until, drops_tombstones, deletes_made: 4, output: 10, inputs: vec![9, 8, 7] }
    }

    fn header(operator: &str) -> Header {
        let types = ("str".to_owned(), "u64".to_owned());
        let operator = operator.to_owned();
        Header { fan: 8, filter_bits: 12, small: 128, open_bytes: 256 << 10, types, operator }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        assert_eq!(RunRecord::decode(&run().encode()).unwrap(), run());
        assert_eq!(Claim::decode(&claim().encode()).unwrap(), claim());
        for operator in ["", "sum"] {
            assert_eq!(Header::decode(&header(operator).encode()).unwrap(), header(operator));
        }
        let written = Written { put: 7, merged: 1 << 40 };
        assert_eq!(Written::decode(&written.encode()).unwrap(), written);
        let most = written.and(u64::MAX, 1);
        assert_eq!(Written::decode(&most.encode()).unwrap(), most);
        for to in [None, Some(b"z".to_vec()), Some(Vec::new())] {
            let delete = DeleteRecord { from: b"a".to_vec(), to };
            assert_eq!(DeleteRecord::decode(&delete.encode()).unwrap(), delete);
        }
        assert_eq!(number_of(&key(kind::RUN, 1 << 50)).unwrap(), 1 << 50);
        assert_eq!(name_of_manifest(manifest_def(b"events/old").name()), Some(&b"events/old"[..]));
        assert_eq!(name_of_manifest(run_def(b"events", 7).name()), None);
    }

    #[test]
    fn a_run_without_its_lowest_records_has_a_share_of_the_rest() {
        let run = RunRecord { records: 10, tombstones: 9, bytes: 105, ..run() };
        let left = run.without_lowest(4, &[b'k'; 100]);
        assert_eq!((left.records, left.tombstones, left.bytes), (6, 6, 63));
        assert_eq!(left.bounds, Bounds { low: vec![b'k'; BOUND_BYTES], ..run.bounds.clone() });
        let all = run.without_lowest(10, b"z");
        assert_eq!((all.records, all.tombstones, all.bytes), (0, 0, 0));
    }

    /// Every prefix of a record, and every record with a byte more or another one, is an error or
    /// a record: no panic, and no allocation that its length does not explain.
    #[test]
    fn hostile_records_are_errors() {
        fn try_all<T>(good: &[u8], decode: impl Fn(&[u8]) -> Result<T>) {
            (0..good.len()).for_each(|end| assert!(decode(&good[..end]).is_err()));
            assert!(decode(&[good, &[0]].concat()).is_err());
            for at in 0..good.len() {
                for byte in [0, 1, 2, 0x7F, 0xFF] {
                    let mut bad = good.to_vec();
                    bad[at] = byte;
                    let _ = decode(&bad);
                }
            }
        }
        try_all(&run().encode(), RunRecord::decode);
        try_all(&claim().encode(), Claim::decode);
        try_all(&header("").encode(), Header::decode);
        try_all(&header("sum").encode(), Header::decode);
        try_all(&Written { put: 1, merged: 2 }.encode(), Written::decode);
        let delete = DeleteRecord { from: b"a".to_vec(), to: Some(b"b".to_vec()) };
        try_all(&delete.encode(), DeleteRecord::decode);
        assert!(number_of(b"").is_err() && number_of(&[0; 8]).is_err());
    }

    #[test]
    fn bounds_that_were_cut_hold_what_they_may_hold() {
        let long = |end: u8| [&[b'k'; BOUND_BYTES][..], &[end]].concat();
        let bounds = Bounds::of(&long(3), &long(5));
        assert_eq!((bounds.low.len(), bounds.high.len()), (BOUND_BYTES, BOUND_BYTES));
        // The ends were cut, so nothing is sure about keys that begin as they do.
        assert!(
            bounds.may_hold(&long(4)) && bounds.may_hold(&long(9)) && bounds.may_hold(&long(0))
        );
        assert!(bounds.is_below(b"l") && bounds.is_above(b"j") && bounds.is_above(b""));
        let short = Bounds::of(b"b", b"d");
        assert!(short.may_hold(b"b") && short.may_hold(b"d") && short.may_hold(b"ccc"));
        assert!(short.is_below(b"d\0") && short.is_above(b"a\xFF"));
        let delete = |from: &[u8], to: Option<&[u8]>| DeleteRecord {
            from: from.to_vec(),
            to: to.map(<[u8]>::to_vec),
        };
        assert!(delete(b"d", None).meets(&short) && !delete(b"d\0", None).meets(&short));
        assert!(delete(b"", Some(b"b\0")).meets(&short) && !delete(b"", Some(b"b")).meets(&short));
        assert!(delete(b"b", Some(b"c")).covers(b"b") && !delete(b"b", Some(b"c")).covers(b"c"));
    }
}
