//! The client table: the clients that have the environment open, and those that died with it open.
//!
//! A client is one open environment. It has a number, and holds the lock byte of that number for as
//! long as it lives; and a generation, which changes each time the number is given out. Whatever
//! names a client in the lock file names it by both (P1).
//!
//! Invariants:
//! 1. Numbers are given out, and slots of the dead cleared, only under the gate.
//! 2. A client is alive exactly while the table shows its generation and its byte is held. Death is
//!    final: a generation never comes back.
//! 3. No client judges itself: a descriptor does not see its own lock (P2).

use std::sync::{Arc, OnceLock, Weak};

use super::board::{Board, BoardIdentity};
use super::gate::Gate;
use super::layout::*;
use crate::alloc::TryGrow;
use crate::error::{Error, Result};
use crate::os::process::{is_process, pid_space};
use crate::os::word::Ordering;
use crate::os::{ForkLock, clock, closed, fork};
use crate::planted::{self, Bug};

const NUMBER_SHIFT: u32 = 2;
const GENERATION_SHIFT: u32 = 18;
const GENERATION_MAX: u64 = (1 << (64 - GENERATION_SHIFT)) - 1;

/// A client, by number and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClientId {
    pub(crate) number: u32,
    pub(crate) generation: u64,
}

impl ClientId {
    /// No client: the name of a guest. No table has the number.
    pub(crate) const NONE: ClientId = ClientId { number: 0xFFFF, generation: 0 };

    /// The name in one word, never 0; its low two bits are free for the state of a slot.
    #[inline]
    pub(super) fn word(self) -> u64 {
        self.generation << GENERATION_SHIFT | u64::from(self.number) << NUMBER_SHIFT
    }

    /// The client that a word names.
    pub(super) fn of_word(word: u64) -> ClientId {
        let number = (word >> NUMBER_SHIFT) as u32 & 0xFFFF;
        ClientId { number, generation: word >> GENERATION_SHIFT }
    }
}

/// What the table tells about a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientInfo {
    pub(crate) id: ClientId,
    /// As the client saw it, in its own PID namespace; for people only.
    pub(crate) pid: u32,
    /// The PID namespace that it is of; 0 where the kernel does not tell.
    pub(super) space: u64,
    /// For how long it has had the environment open, in milliseconds.
    pub(crate) age_ms: u64,
    /// Whether it is this very client.
    pub(crate) me: bool,
}

/// The clients of this process, and of those that it was forked from, with the lock file of each.
static OF_THIS_PROCESS: ForkLock<Vec<(Option<BoardIdentity>, Weak<Clients>)>> =
    ForkLock::new(Vec::new());

/// The client table, seen by one client.
pub(crate) struct Clients {
    board: Arc<Board>,
    me: OnceLock<ClientId>,
    fork_generation: u32,
}

impl Clients {
    pub(crate) fn new(board: Arc<Board>) -> Clients {
        Clients { board, me: OnceLock::new(), fork_generation: fork::generation() }
    }

    /// The client table as a guest, which is no client, sees it (R2).
    pub(crate) fn of_guest(board: Arc<Board>) -> Clients {
        let me = OnceLock::from(ClientId::NONE);
        Clients { board, me, fork_generation: fork::generation() }
    }

    /// Registers it as one of this process, once the lock file names the data file.
    pub(crate) fn register(self: &Arc<Self>) -> Result<()> {
        let identity = self.board.identity();
        let mut all = OF_THIS_PROCESS.lock();
        let _held_off = fork::hold_off();
        all.retain(|(_, clients)| clients.strong_count() > 0);
        Ok(all.try_push((identity, Arc::downgrade(self)))?)
    }

    /// Whether a client of this lock file is one of this process. Process ids do not say that: each
    /// container counts on its own.
    pub(crate) fn is_of_this_process(&self, id: ClientId) -> bool {
        let own = self.board.identity();
        let all = OF_THIS_PROCESS.lock();
        let mut of_this_file = all.iter().filter(|(identity, _)| *identity == own);
        of_this_file.any(|(_, clients)| {
            clients.upgrade().is_some_and(|clients| {
                clients.me.get() == Some(&id) && clients.fork_generation == fork::generation()
            })
        })
    }

    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Becomes a client. After the board is known to be ready and ours.
    pub(crate) fn join(&self, gate: &Gate) -> Result<ClientId> {
        let shared = self.board.shared();
        gate.assert_of(shared);
        assert!(self.me.get().is_none(), "one client joins once");
        for number in 0..CLIENTS_MAX {
            if !shared.claim(number)? {
                continue;
            }
            if number >= ROWS_FIRST {
                self.board.grow_rows(gate, (number + 1).next_power_of_two())?;
            }
            let entry = self.board.row(number);
            let before = entry[CLIENT_GENERATION].load(Ordering::Relaxed);
            let generation = match before {
                1.. if planted::is(Bug::ClientGeneration) => before,
                GENERATION_MAX.. => 1,
                _ => before + 1,
            };
            let high = &self.board.fixed()[CLIENT_HIGH];
            high.fetch_max(u64::from(number) + 1, Ordering::AcqRel);
            entry[CLIENT_PID].store(u64::from(std::process::id()), Ordering::Relaxed);
            entry[CLIENT_SPACE].store(pid_space(), Ordering::Relaxed);
            entry[CLIENT_SINCE].store(clock::now_ms(), Ordering::Relaxed);
            entry[CLIENT_GENERATION].store(generation, Ordering::Release);
            return Ok(*self.me.get_or_init(|| ClientId { number, generation }));
        }
        Err(Error::Busy(format!("all {CLIENTS_MAX} client numbers are taken").into()))
    }

    /// This client, if it is one that may leave: not a guest, and not its parent's (after a fork).
    pub(super) fn joined(&self) -> Option<ClientId> {
        let me = self.me.get().filter(|me| **me != ClientId::NONE)?;
        (!fork::is_inherited(self.fork_generation)).then_some(*me)
    }

    /// Gives up the number of this client; its slots are free by then.
    pub(super) fn give_up(&self, me: ClientId) {
        self.board.row(me.number)[CLIENT_PID].store(0, Ordering::Relaxed);
        self.board.shared().release(me.number);
    }

    /// This client.
    pub(crate) fn me(&self) -> ClientId {
        *self.me.get().expect("a client has joined before it is named")
    }

    /// Refuses to go on after a fork, or if the lock file's descriptor was closed behind the
    /// library's back, which dropped this client's byte (P5). Costs a system call.
    pub(crate) fn check_intact(&self) -> Result<()> {
        if fork::is_inherited(self.fork_generation) {
            return Err(Error::Forked);
        }
        if !self.board.shared().intact() {
            return Err(Error::io("use the lock file, whose descriptor was closed", "", closed()));
        }
        Ok(())
    }

    /// Whether a client is still there. Costs a system call, except for oneself.
    pub(crate) fn is_alive(&self, id: ClientId) -> Result<bool> {
        if self.me.get() == Some(&id) {
            return Ok(true);
        }
        if id.number >= CLIENTS_MAX {
            return Ok(false);
        }
        let entry = self.board.row_if_there(id.number)?;
        let generation = entry.map(|entry| entry[CLIENT_GENERATION].load(Ordering::Acquire));
        Ok(generation == Some(id.generation) && self.board.shared().held(id.number)?)
    }

    /// Whether any other client has the environment open. Under the gate, so that it stays true.
    pub(crate) fn others_alive(&self, gate: &Gate) -> Result<bool> {
        gate.assert_of(self.board.shared());
        for number in 0..self.high() {
            if self.board.shared().held(number)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the table says about a client, alive or dead; `None` if its number has gone to another.
    pub(crate) fn info(&self, id: ClientId) -> Option<ClientInfo> {
        if id.number >= CLIENTS_MAX {
            return None;
        }
        let entry = self.board.row_if_there(id.number).ok()??;
        let pid = entry[CLIENT_PID].load(Ordering::Relaxed) as u32;
        let space = entry[CLIENT_SPACE].load(Ordering::Relaxed);
        let since = entry[CLIENT_SINCE].load(Ordering::Relaxed);
        let age_ms = clock::now_ms().saturating_sub(since);
        let same = entry[CLIENT_GENERATION].load(Ordering::Acquire) == id.generation;
        same.then(|| ClientInfo { id, pid, space, age_ms, me: self.me.get() == Some(&id) })
    }

    /// All clients that are alive, this one included.
    pub(crate) fn list(&self) -> Result<Vec<ClientInfo>> {
        let mut alive = Vec::new();
        for number in 0..self.high() {
            let Some(entry) = self.board.row_if_there(number)? else { break };
            let generation = entry[CLIENT_GENERATION].load(Ordering::Acquire);
            let id = ClientId { number, generation };
            if generation != 0 && self.is_alive(id)? {
                alive.try_extend(self.info(id).into_iter())?;
            }
        }
        Ok(alive)
    }

    /// Numbers below this may have been given out.
    fn high(&self) -> u32 {
        if self.board.identity().is_none() {
            return CLIENTS_MAX;
        }
        let high = self.board.fixed()[CLIENT_HIGH].load(Ordering::Acquire);
        high.min(u64::from(CLIENTS_MAX)) as u32
    }
}

/// The process of a client that is not of this one, in words: `pid` counts in `space`.
pub(super) fn process_text(pid: u32, space: u64) -> String {
    let (here, me) = (pid_space(), std::process::id());
    let is_elsewhere = pid == me || space != here && space != 0 && here != 0;
    match pid {
        0 => "a process that has left".to_string(),
        pid if is_elsewhere => format!("process {pid} of another container, as it counts itself"),
        pid if space == 0 || here == 0 => format!("process {pid}, as it counts itself"),
        pid if is_process(pid) => format!("process {pid}"),
        // Seen from here only its lock is left.
        pid => format!("process {pid} (gone; a child that it forked has its lock)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_space() {
        let (me, here) = (std::process::id(), pid_space());
        if here == 0 {
            return;
        }
        for pid in [me, 1, u32::MAX >> 1] {
            let elsewhere = process_text(pid, here + 1);
            assert!(elsewhere.contains(&format!("process {pid} of another container")));
        }
        // Another process with the number of this one.
        assert!(process_text(me, here).contains("another container"));
        assert!(process_text(1, 0).contains("as it counts itself"));
        assert_eq!(process_text(1, here), "process 1");
        assert!(process_text(u32::MAX >> 1, here).contains("gone"));
        assert!(process_text(0, here).contains("has left"));
    }
}
