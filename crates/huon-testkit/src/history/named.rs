//! Named snapshots.
//!
//! 1. A named snapshot shows what was committed when it was captured, over kills and power losses,
//!    until it is dropped.
//! 2. After a power loss the names are those of the commit that is left.

use std::sync::Arc;
use std::time::Duration;

use huon::{Durability, Env, Error, WriteTxn};

use crate::history::program::Op;
use crate::history::{History, Step, Stop};
use crate::model::Model;

/// Names that a program gives.
fn name(number: u8) -> String {
    format!("snapshot {number}")
}

impl History {
    /// Operations on named snapshots, each a transaction of its own; whether it was one.
    pub(crate) fn named_op(&mut self, op: &Op) -> Result<bool, Stop> {
        match *op {
            Op::NameSnapshot { client, name: number, lazy } => {
                let capture = self.env(client).capture()?;
                let mut shown = self.committed.clone();
                shown.snapshots.clear();
                let named = |txn: &mut WriteTxn| txn.name_snapshot(&name(number), &capture);
                self.change_names((client, lazy), named, |model| {
                    model.names_table = true;
                    model.snapshots.insert(name(number), Arc::new(shown));
                })?;
                self.counts.add("name a snapshot", 1);
            }
            Op::DropSnapshot { client, name: number, lazy } => {
                let name = name(number);
                let is_there = self.committed.snapshots.contains_key(&name);
                let mut dropped = is_there;
                let drops = |txn: &mut WriteTxn| {
                    dropped = txn.drop_snapshot(&name)?;
                    Ok(())
                };
                self.change_names((client, lazy), drops, |model| {
                    drop(model.snapshots.remove(&name))
                })?;
                if dropped != is_there {
                    return Err(Stop::Fail(format!("{name}: there {is_there}, dropped {dropped}")));
                }
                self.counts.add("drop a snapshot", u64::from(is_there));
            }
            Op::ReadSnapshot { client, name: number } => {
                let env = self.env(client);
                let found = env.named_snapshot(&name(number))?;
                let expected = self.committed.snapshots.get(&name(number));
                match (found, expected) {
                    (Some(found), Some(model)) => model.compare(found.txn())?,
                    (None, None) => {}
                    (found, _) => {
                        let there = found.is_some();
                        return Err(Stop::Fail(format!("snapshot {number}: there {there}")));
                    }
                }
                self.counts.add("read a snapshot", u64::from(expected.is_some()));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn change_names(
        &mut self,
        (client, lazy): (u8, bool),
        change: impl FnOnce(&mut WriteTxn) -> huon::Result<()>,
        apply: impl FnOnce(&mut Model),
    ) -> Step {
        let env = self.env(client);
        let mut txn = env.write_within(Duration::from_secs(10))?;
        self.unclean = false;
        self.note_state()?;
        self.client = self.machine.present(client);
        self.work = self.committed.clone();
        self.was_limited = self.is_limited();
        let durability = if lazy { Durability::Lazy } else { Durability::Durable };
        let done = change(&mut txn).and_then(|()| txn.commit_with(durability));
        let id = match done {
            Ok(id) => id,
            Err(Error::MapFull(_)) if self.was_limited => {
                self.counts.add("full, naming", 1);
                self.note_evictable();
                return self.settled(false);
            }
            Err(error) => return Err(error.into()),
        };
        apply(&mut self.committed);
        self.commits.insert(id, self.committed.clone());
        self.note_evictable();
        self.settled(false)
    }

    /// Whether the environment has the named snapshots of a model; their contents, too, where they
    /// are `whole` or small.
    pub(crate) fn compare_names(env: &Env, model: &Model, whole: bool) -> Result<(), String> {
        let named = env.named_snapshots().map_err(|error| error.to_string())?;
        let mut names: Vec<&str> = named.iter().map(|named| named.name.as_str()).collect();
        names.sort_unstable();
        if names.iter().ne(model.snapshots.keys()) {
            let expected: Vec<&String> = model.snapshots.keys().collect();
            return Err(format!("named snapshots are {names:?}, expected {expected:?}"));
        }
        for (name, model) in
            model.snapshots.iter().filter(|(_, model)| whole || model.count() < 300)
        {
            let found = env.named_snapshot(name).map_err(|error| error.to_string())?;
            let found = found.ok_or(format!("{name} is listed and not there"))?;
            model.compare(found.txn()).map_err(|what| format!("{name}: {what}"))?;
        }
        Ok(())
    }
}
