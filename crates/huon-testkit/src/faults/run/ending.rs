//! How a run ends: closing, kills and power losses, and what must be there then.

use super::*;

impl Run<'_> {
    /// A healthy client goes on at once, unless the environment is poisoned: then none does.
    pub fn go_on(&mut self) {
        // A guest alone lets others in, but not after a failed flush.
        let joins_guest = self.guest.as_ref().is_some_and(|guest| !Run::is_poisoned(guest));
        if self.other.is_none() && (self.env.is_some() || joins_guest) {
            self.other = self.ground.open_healthy(&self.options).ok();
            assert!(self.other.is_some(), "another client cannot join");
        }
        let Some(other) = self.other.clone() else { return };
        let armed = std::mem::replace(&mut self.armed, false);
        if Run::is_poisoned(&other) {
            assert!(self.ground.fired() > 0, "poisoned by nothing");
            let envs: Vec<Env> = self.env.iter().chain([&other]).cloned().collect();
            for env in envs {
                assert!(matches!(env.write(), Err(Error::Poisoned)), "it must not write");
                assert!(matches!(env.sync(), Err(Error::Poisoned)), "it must not flush");
            }
        } else {
            self.commit_elsewhere();
            audit(&other).unwrap_or_else(|what| panic!("another client checks: {what}"));
        }
        let state = self.state_seen(&other.read().expect("readers go on"));
        assert!(self.visible.contains(&state), "another client reads state {state}");
        self.armed = armed;
    }

    /// All clients close.
    pub(super) fn end(&mut self) {
        self.close();
        if let Some(other) = self.other.take() {
            let armed = std::mem::replace(&mut self.armed, false);
            self.env = Some(other);
            self.close();
            self.armed = armed;
        }
        self.look("after closing");
        self.close_guest();
    }

    /// Closes the client under test.
    pub fn close(&mut self) {
        self.close_as(if self.flushes { Closing::Flushed } else { Closing::Unflushed });
    }

    fn close_as(&mut self, how: Closing) {
        let Some(env) = self.env.take() else { return };
        self.unpark();
        let poisoned = Run::is_poisoned(&env);
        let before = poisoned.then(|| self.ground.image());
        let fired = self.ground.fired();
        match how {
            Closing::Dirty => self.call(|| env.close_without_flush()),
            _ => drop(self.tried("close", || env.close())),
        }
        if let Some(before) = before {
            assert!(before == self.ground.image(), "closing wrote to a poisoned environment");
        }
        let quiet = self.ground.fired() == fired;
        self.poisoned |= poisoned;
        if self.other.as_ref().map(Run::is_poisoned).unwrap_or(poisoned) {
            self.newest = self.kept.clone();
        } else if quiet && how == Closing::Flushed && self.repaired {
            // A client that closes flushes all commits, unless the repair is still to be made.
            self.kept = self.newest.clone();
        } else if !quiet && self.other.is_none() {
            self.newest.append(&mut self.kept.clone());
        }
    }

    /// Closes the client under test as if it had died.
    pub fn close_without_flush(&mut self) {
        self.close_as(Closing::Dirty);
    }

    /// Ends everything at once, as far as that can be done here.
    pub fn crash(&mut self, how: Crash) {
        if !self.ground.crash(how) {
            return self.close_without_flush();
        }
        self.unpark();
        self.guest_readers.clear();
        (self.env, self.other, self.guest) = (None, None, None);
        if how == Crash::PowerLoss {
            self.newest = self.kept.clone();
        }
    }

    /// What a kill and a power loss would leave at this moment.
    pub(super) fn cut(&self, when: &str) {
        let poisoned = self.env.iter().chain(&self.other).map(Run::is_poisoned).next();
        if let Some(opened) = self.ground.after_kill(&self.options)
            && let Some(env) = self.opened(opened, &format!("killed {when}"))
        {
            let allowed = match poisoned {
                Some(false) => self.newest.clone(),
                Some(true) => self.kept.clone(),
                None => self.newest.union(&self.kept).copied().collect(),
            };
            self.judge_cut(&env, &allowed, &format!("killed {when}"));
        }
        if let Some(opened) = self.ground.after_power_loss(&self.options)
            && let Some(env) = self.opened(opened, &format!("power loss {when}"))
        {
            self.judge_cut(&env, &self.kept, &format!("power loss {when}"));
        }
    }

    /// What opens, or what was never made whole: nothing was promised of that.
    fn opened(&self, opened: Result<Env, Error>, when: &str) -> Option<Env> {
        match opened {
            Err(Error::NotADatabase(_)) if !self.made => None,
            opened => Some(opened.unwrap_or_else(|error| panic!("{when}: {error}"))),
        }
    }

    fn judge_cut(&self, env: &Env, allowed: &BTreeSet<usize>, when: &str) {
        let state = self.state_seen(&env.read().expect("a reader"));
        assert!(allowed.contains(&state), "{when}: state {state}, not of {allowed:?}");
        audit(env).unwrap_or_else(|what| panic!("{when}: {what}"));
    }

    /// Opens without faults: everything that was promised is there, and it works.
    pub(super) fn judge(&mut self) {
        let opened = self.ground.open_healthy(&self.options);
        // What was left half made could be cleared away if only one call failed.
        let Some(env) = self.opened(opened, "once nothing fails") else {
            return assert!(self.ground.fired() > 1, "an opening that failed is in the way");
        };
        self.begin_anew(&env);
        let recovery = env.recovery();
        assert!(!self.poisoned || recovery != Recovery::Clean, "poisoned, and opened as clean");
        audit(&env).unwrap_or_else(|what| panic!("at the end: {what}"));
        self.env = Some(env.clone());
        self.errors.clear();
        self.commit(Durability::Durable, |edit| (0..9).try_for_each(|n| edit.put(2, n * 5, 50)));
        self.commit(Durability::Lazy, |edit| edit.put(10, 7, 50));
        assert!(self.errors.is_empty(), "it works once nothing fails: {:?}", self.errors);
        audit(&env).unwrap_or_else(|what| panic!("after the end: {what}"));
        self.look("after the end");
    }
}
