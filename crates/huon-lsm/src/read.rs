//! Lookups: what a transaction has collected, then the runs from the newest to the oldest.

use huon::{AnyTxn, Codec, KeyCodec, Result, Scratch, Txn};

use crate::filter;
use crate::manifest::{Shared, View, view_in};
use crate::operator::Chain;
use crate::pending::Pending;
use crate::record::{Says, says};
use crate::table::LsmTable;

/// Keys that are looked for together.
const BATCH: usize = 64;

impl<K: KeyCodec, V: Codec> LsmTable<K, V> {
    /// The value of `key`, as the transaction sees it: a write transaction sees what it has put.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// let mut txn = env.write()?;
    /// ages.put(&mut txn, "ann", 31)?;
    /// assert_eq!(ages.get(&txn, "ann")?, Some(31));
    /// assert_eq!(ages.get(&env.read()?, "ann")?, None, "it is not committed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// A question to the filter of each run, and a descent in about one run: the one that has the
    /// key. In a write transaction the first lookup after puts makes an index of them.
    ///
    /// # Errors
    /// [`huon::Error::Corrupt`] if a page is damaged, [`huon::Error::Decode`] from the codec and
    /// where a manifest or a value is none; as for all methods of a table.
    pub fn get<'t>(&self, txn: &'t impl Txn, key: K::In<'_>) -> Result<Option<V::Out<'t>>> {
        let mut scratch = Scratch::default();
        let found = get(self.shared(), txn.any(), K::encode(&key, &mut scratch)?)?;
        found.map(V::decode).transpose()
    }

    /// Whether the table has `key`.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "ann", 31))?;
    /// let txn = env.read()?;
    /// assert!(ages.contains(&txn, "ann")? && !ages.contains(&txn, "bob")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of [`LsmTable::get`].
    ///
    /// # Errors
    /// As [`LsmTable::get`], but the value is not decoded.
    pub fn contains(&self, txn: &impl Txn, key: K::In<'_>) -> Result<bool> {
        let mut scratch = Scratch::default();
        has(self.shared(), txn.any(), K::encode(&key, &mut scratch)?)
    }

    /// The values of many keys, each given to `found` with the key's place in `keys`, in that
    /// order.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| {
    ///     ages.put(txn, "ann", 31)?;
    ///     ages.put(txn, "bob", 47)
    /// })?;
    /// let mut found = [None; 3];
    /// ages.get_many(&env.read()?, &["bob", "cid", "ann"], |i, age| found[i] = age)?;
    /// assert_eq!(found, [Some(47), None, Some(31)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// Less than that of as many gets where the table does not fit the processor's caches: in each
    /// run, [`huon::Table::get_many`] looks for 64 keys at a time that its filter lets pass.
    ///
    /// # Errors
    /// As [`LsmTable::get`]. The first 64 keys that have one among them end the call.
    pub fn get_many<'t>(
        &self,
        txn: &'t impl Txn,
        keys: &[K::In<'_>],
        mut found: impl FnMut(usize, Option<V::Out<'t>>),
    ) -> Result<()> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (batch, keys) in keys.chunks(BATCH).enumerate() {
            bytes.clear();
            ends.clear();
            let mut scratch = Scratch::default();
            for key in keys {
                bytes.extend_from_slice(K::encode(key, &mut scratch)?);
                ends.push(bytes.len());
            }
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let keys: Vec<&[u8]> =
                starts.zip(&ends).map(|(start, end)| &bytes[start..*end]).collect();
            for (i, chain) in chains(self.shared(), txn.any(), &keys)?.iter().enumerate() {
                let value = chain.value(|| self.shared().folder(txn.any()))?;
                found(batch * BATCH + i, value.map(V::decode).transpose()?);
            }
        }
        Ok(())
    }
}

/// The value of a key.
#[inline]
pub(crate) fn get<'t>(shared: &Shared, txn: AnyTxn<'t>, key: &[u8]) -> Result<Option<&'t [u8]>> {
    let mut chain = Chain::default();
    visit(shared, txn, key, |tagged| chain.add(tagged))?;
    chain.value(|| shared.folder(txn))
}

/// Whether a key has a value, which its newest record says.
pub(crate) fn has(shared: &Shared, txn: AnyTxn<'_>, key: &[u8]) -> Result<bool> {
    let mut newest = None;
    visit(shared, txn, key, |tagged| {
        newest = Some(tagged);
        false
    })?;
    newest.map_or(Ok(false), |newest| Ok(says(newest)? != Says::Nothing))
}

/// Hands the records of a key to `found`, from the newest on, until it wants no older ones.
#[inline]
fn visit<'t>(
    shared: &Shared,
    txn: AnyTxn<'t>,
    key: &[u8],
    mut found: impl FnMut(&'t [u8]) -> bool,
) -> Result<()> {
    let hash = filter::hash(key);
    match txn {
        AnyTxn::Read(txn) => {
            let view = view_in(shared, txn)?;
            visit_runs(shared, &view, txn, key, hash, found)
        }
        AnyTxn::Write(txn) => match Pending::of(txn, shared) {
            None => visit_runs(shared, &*shared.view(txn)?, txn, key, hash, found),
            Some(pending) => {
                let wanted = pending.batch.visit(key, hash, &mut found);
                if wanted {
                    visit_runs(shared, &*pending.view(txn)?, txn, key, hash, found)?;
                }
                Ok(())
            }
        },
    }
}

#[inline]
fn visit_runs<'t>(
    shared: &Shared,
    view: &View,
    txn: &'t impl Txn,
    key: &[u8],
    hash: u64,
    mut found: impl FnMut(&'t [u8]) -> bool,
) -> Result<()> {
    let deleted = view.deleted_before(key);
    for run in &view.runs {
        // L10: older runs are hidden, too, or have made the delete themselves.
        if run.is_hidden_by(deleted) {
            return Ok(());
        }
        if run.may_hold(shared.manifest, txn, key, hash)?
            && let Some(tagged) = run.table.get(txn, key)?
            && !found(tagged)
        {
            return Ok(());
        }
    }
    Ok(())
}

/// The records of up to [`BATCH`] keys.
fn chains<'t>(shared: &Shared, txn: AnyTxn<'t>, keys: &[&[u8]]) -> Result<Vec<Chain<'t>>> {
    let mut chains: Vec<Chain<'t>> = Vec::new();
    chains.resize_with(keys.len(), Chain::default);
    let mut left: Vec<usize> = (0..keys.len()).collect();
    match txn {
        AnyTxn::Read(txn) => {
            visit_batch(shared, &*view_in(shared, txn)?, txn, keys, left, &mut chains)?;
        }
        AnyTxn::Write(txn) => match Pending::of(txn, shared) {
            None => visit_batch(shared, &*shared.view(txn)?, txn, keys, left, &mut chains)?,
            Some(pending) => {
                left.retain(|&i| {
                    let (key, chain) = (keys[i], &mut chains[i]);
                    pending.batch.visit(key, filter::hash(key), |tagged| chain.add(tagged))
                });
                visit_batch(shared, &*pending.view(txn)?, txn, keys, left, &mut chains)?;
            }
        },
    }
    Ok(chains)
}

/// Looks for the records of the keys numbered `left` in the runs.
fn visit_batch<'t>(
    shared: &Shared,
    view: &View,
    txn: &'t impl Txn,
    keys: &[&[u8]],
    mut left: Vec<usize>,
    chains: &mut [Chain<'t>],
) -> Result<()> {
    let hashes: Vec<u64> = keys.iter().map(|key| filter::hash(key)).collect();
    let deleted: Vec<u64> = keys.iter().map(|key| view.deleted_before(key)).collect();
    let (mut places, mut wanted) = (Vec::new(), Vec::new());
    for run in &view.runs {
        left.retain(|i| !run.is_hidden_by(deleted[*i]));
        places.clear();
        wanted.clear();
        for &i in &left {
            if run.may_hold(shared.manifest, txn, keys[i], hashes[i])? {
                places.push(i);
                wanted.push(keys[i]);
            }
        }
        if wanted.is_empty() {
            continue;
        }
        let mut is_found = [false; BATCH];
        run.table.get_many(txn, &wanted, |at, tagged| {
            let Some(tagged) = tagged else { return };
            is_found[places[at]] = !chains[places[at]].add(tagged);
        })?;
        left.retain(|i| !is_found[*i]);
        if left.is_empty() {
            break;
        }
    }
    Ok(())
}
