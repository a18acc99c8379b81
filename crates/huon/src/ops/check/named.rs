//! The part of a check that looks at named snapshots.

use std::ops::ControlFlow;

use super::Check;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::page::Txnid;

impl Check<'_, '_> {
    /// All pages of the snapshots that have names are there, whole (Y2). Each of them is pinned
    /// while it is read.
    pub(super) fn named(&mut self, env: &Env) -> Result<()> {
        let names = match env.named_snapshots() {
            Ok(named) => named.into_iter().map(|named| named.name),
            Err(error) => return self.damage_of_names("the named snapshots", error),
        };
        for name in names {
            let read = self.read_named(env, &name);
            if let Err(error) = read {
                self.damage_of_names(&format!("the snapshot {name:?}"), error)?;
            }
        }
        Ok(())
    }

    fn read_named(&mut self, env: &Env, name: &str) -> Result<()> {
        // Dropped meanwhile.
        let Some(capture) = env.named_snapshot(name)? else { return Ok(()) };
        let (meter, mut stopped) = (&mut self.meter, Ok(()));
        capture.changes(Txnid(0).0, &mut |changed| {
            stopped = meter.advance(changed.bytes.len() as u64);
            if stopped.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        stopped?;
        self.report.named_snapshots += 1;
        Ok(())
    }

    fn damage_of_names(&mut self, what: &str, error: Error) -> Result<()> {
        let Error::Corrupt(damage) = &error else { return Err(error) };
        self.report.add(damage.pgno, None, || format!("{what}: {error}"));
        Ok(())
    }
}
