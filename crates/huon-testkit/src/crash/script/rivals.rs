//! What a second client does while the first one is between two steps of a commit.

use std::time::Duration;

use huon::Durability;
use huon::sim::Point;

use super::{Desk, Env, Play, Stage};
use crate::crash::edit::Edit;
use crate::crash::record;

/// After so many commits there was a checkpoint.
const COMMITS_MAX: usize = 20;

impl Desk {
    /// A commit that may come to be durable by the journal, and waits for no other client.
    fn commit_at_once(&self, env: &Env, work: impl FnOnce(&mut Edit<'_>)) -> Play {
        self.commit_how(env, work, |txn| {
            let is_durable = txn.commit_ticket()?.wait_within(Duration::ZERO)?;
            Ok(is_durable.then_some(Durability::Durable))
        })
    }
}

impl Stage {
    /// A commit by the first client; when it comes to `point`, the second client makes a lazy
    /// commit.
    pub fn ambushed(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&mut Edit<'_>),
        point: Point,
        rival: impl FnOnce(&mut Edit<'_>) + 'static,
    ) -> Play {
        let (desk, env) = (self.desk.clone(), self.envs[1].clone());
        self.surprised(point, durability, work, move || {
            desk.commit(&env, Durability::Lazy, rival).expect("a lazy commit flushes nothing");
        })
    }

    /// A durable commit by the first client; when it comes to `point`, the second client makes
    /// `count` lazy commits.
    pub fn overtaken(
        &mut self,
        point: Point,
        work: impl FnOnce(&mut Edit<'_>),
        count: u64,
        rival: impl Fn(&mut Edit<'_>, u64) + 'static,
    ) -> Play {
        let (desk, env) = (self.desk.clone(), self.envs[1].clone());
        self.surprised(point, Durability::Durable, work, move || {
            for n in 0..count {
                let work = |edit: &mut Edit<'_>| rival(edit, n);
                desk.commit(&env, Durability::Lazy, work).expect("a lazy commit flushes nothing");
            }
        })
    }

    fn surprised(
        &mut self,
        point: Point,
        durability: Durability,
        work: impl FnOnce(&mut Edit<'_>),
        surprise: impl FnOnce() + 'static,
    ) -> Play {
        record::lie_in_wait(point, surprise);
        let done = self.desk.commit(&self.envs[0], durability, work);
        let journal = self.envs[0].info().map(|info| info.journal);
        let missed = record::call_off() && done.is_ok();
        assert!(!missed, "the commit never came to {point:?}: {journal:?}");
        done
    }

    /// Durable commits by the first client until one comes to `point`, where the second client
    /// makes one that is durable if the journal can have it at once.
    pub fn rivalled(
        &mut self,
        point: Point,
        work: impl Fn(&mut Edit<'_>),
        rival: impl FnOnce(&mut Edit<'_>) + 'static,
    ) -> Play {
        let (desk, env) = (self.desk.clone(), self.envs[1].clone());
        record::lie_in_wait(point, move || {
            // One that fails ends the script where the first client hears of it.
            let _ = desk.commit_at_once(&env, rival);
        });
        for _ in 0..COMMITS_MAX {
            self.durable(&work)?;
            if !record::is_waiting() {
                return Ok(());
            }
        }
        panic!("no commit came to {point:?}");
    }
}
