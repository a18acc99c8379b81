//! The protocol of the log as a model: every interleaving of shippers that sleep between any two
//! requests, of requests whose answers are lost or that arrive late, of a follower, and of a
//! collector that deletes as soon as it may.
//!
//! What must hold: what a shipper was told is in the log is in the chain that a follower reads.

use std::collections::{HashSet, VecDeque};

/// Rules that can be left out.
#[derive(Clone, Copy)]
struct Rules {
    /// S2: takeovers are not deleted.
    keeps_takeovers: bool,
    /// S3: a claim counts only if the floor is not above it.
    looks_at_the_floor: bool,
    /// S4: after a lost answer it is read what is there.
    reads_after_loss: bool,
}

const ALL: Rules =
    Rules { keeps_takeovers: true, looks_at_the_floor: true, reads_after_loss: true };

/// Places of the log.
const PLACES: usize = 4;
/// How often a shipper takes over.
const CLAIMS: u8 = 2;

/// Requests whose answers are lost, at most, in one run.
fn losses() -> u8 {
    if std::env::var_os("HUON_PROOF").is_some() { 2 } else { 1 }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Thing {
    is_takeover: bool,
    shipper: u8,
    /// Counts what a shipper has made, so that contents differ.
    count: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Idle,
    /// Looks for the end.
    Looks,
    /// Has found that nothing is there, and claims it.
    Claims,
    /// Does not know whether its claim has arrived.
    ClaimUnsure,
    /// Has made the takeover, and looks at the floor.
    Made,
    Owns,
    /// Does not know whether its segment has arrived.
    Unsure,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Shipper {
    phase: Phase,
    at: u8,
    claims: u8,
    count: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    store: [Option<Thing>; PLACES],
    floor: u8,
    /// What the follower has read.
    chain: Vec<Thing>,
    shippers: [Shipper; 2],
    /// What shippers were told is there.
    told: Vec<(u8, Thing)>,
    /// Requests that may still arrive.
    late: Vec<(u8, Thing)>,
    losses: u8,
}

impl State {
    fn begin() -> State {
        let shipper = Shipper { phase: Phase::Idle, at: 0, claims: CLAIMS, count: 0 };
        State {
            store: [None; PLACES],
            floor: 0,
            chain: Vec::new(),
            shippers: [shipper; 2],
            told: Vec::new(),
            late: Vec::new(),
            losses: losses(),
        }
    }

    /// What was told to be there, and is not.
    fn lost(&self) -> Option<(u8, Thing)> {
        let there = |n: u8| match self.chain.get(usize::from(n)) {
            Some(thing) => Some(*thing),
            None => self.store[usize::from(n)],
        };
        self.told.iter().copied().find(|(n, thing)| there(*n) != Some(*thing))
    }

    /// Makes an object where there is none; whether it did.
    fn create(&mut self, n: u8, thing: Thing) -> bool {
        let place = &mut self.store[usize::from(n)];
        let is_free = place.is_none();
        if is_free {
            *place = Some(thing);
        }
        is_free
    }

    fn tell(&mut self, n: u8, thing: Thing) {
        if !self.told.contains(&(n, thing)) {
            self.told.push((n, thing));
            self.told.sort_unstable_by_key(|(n, thing)| (*n, thing.shipper, thing.count));
        }
    }

    /// All states that may come next.
    fn next(&self, rules: Rules) -> Vec<State> {
        let mut next = Vec::new();
        for one in 0..self.shippers.len() {
            self.shipper_steps(one, rules, &mut next);
        }
        for late in 0..self.late.len() {
            let mut state = self.clone();
            let (n, thing) = state.late.remove(late);
            state.create(n, thing);
            next.push(state);
        }
        let read = self.chain.len();
        if let Some(Some(thing)) = self.store.get(read) {
            let mut state = self.clone();
            state.chain.push(*thing);
            next.push(state);
        }
        if usize::from(self.floor) < read {
            next.push(State { floor: read as u8, ..self.clone() });
        }
        for n in 0..usize::from(self.floor) {
            if self.store[n].is_some_and(|thing| !(thing.is_takeover && rules.keeps_takeovers)) {
                let mut state = self.clone();
                state.store[n] = None;
                next.push(state);
            }
        }
        next
    }

    fn shipper_steps(&self, one: usize, rules: Rules, next: &mut Vec<State>) {
        let shipper = self.shippers[one];
        let with = |phase, at| {
            let mut state = self.clone();
            let shipper = &mut state.shippers[one];
            (shipper.phase, shipper.at) = (phase, at);
            state
        };
        let at = shipper.at;
        let is_within = usize::from(at) < PLACES;
        let there = if is_within { self.store[usize::from(at)] } else { None };
        let mine = |is_takeover| Thing { is_takeover, shipper: one as u8, count: shipper.count };
        match shipper.phase {
            Phase::Idle if shipper.claims > 0 => {
                let mut state = with(Phase::Looks, self.floor);
                state.shippers[one].claims -= 1;
                next.push(state);
            }
            Phase::Looks if is_within => next.push(match there {
                Some(_) => with(Phase::Looks, at + 1),
                None => with(Phase::Claims, at),
            }),
            Phase::Claims => {
                let mut state = with(Phase::Made, at);
                if !state.create(at, mine(true)) {
                    state = with(Phase::Looks, at);
                }
                state.shippers[one].count += u8::from(state.shippers[one].phase == Phase::Made);
                next.push(state);
                self.lose(with(Phase::ClaimUnsure, at), at, mine(true), next);
            }
            Phase::ClaimUnsure => next.push(match there {
                Some(thing) if thing == mine(true) || !rules.reads_after_loss => {
                    let mut state = with(Phase::Made, at);
                    state.shippers[one].count += 1;
                    state
                }
                Some(_) => {
                    let mut state = with(Phase::Looks, at);
                    state.shippers[one].count += 1;
                    state
                }
                None => with(Phase::Claims, at),
            }),
            Phase::Made if rules.looks_at_the_floor && self.floor > at => {
                next.push(with(Phase::Looks, self.floor));
            }
            Phase::Made => next.push(with(Phase::Owns, at + 1)),
            Phase::Owns if is_within => {
                let mut state = with(Phase::Owns, at + 1);
                if state.create(at, mine(false)) {
                    state.shippers[one].count += 1;
                    state.tell(at, mine(false));
                } else {
                    state = with(Phase::Idle, at);
                }
                next.push(state);
                self.lose(with(Phase::Unsure, at), at, mine(false), next);
            }
            Phase::Unsure => next.push(match there {
                Some(thing) if thing == mine(false) || !rules.reads_after_loss => {
                    let mut state = with(Phase::Owns, at + 1);
                    state.shippers[one].count += 1;
                    state.tell(at, mine(false));
                    state
                }
                Some(_) => {
                    let mut state = with(Phase::Idle, at);
                    state.shippers[one].count += 1;
                    state
                }
                None => with(Phase::Owns, at),
            }),
            _ => {}
        }
    }

    /// A request without an answer: it has arrived, or will, or never does.
    fn lose(&self, unsure: State, n: u8, thing: Thing, next: &mut Vec<State>) {
        if self.losses == 0 {
            return;
        }
        let unsure = State { losses: self.losses - 1, ..unsure };
        let mut arrived = unsure.clone();
        arrived.create(n, thing);
        next.push(arrived);
        let mut late = unsure.clone();
        late.late.push((n, thing));
        next.push(late);
        next.push(unsure);
    }
}

/// Looks at all states. How many there are, or one in which something is lost.
fn explore(rules: Rules) -> Result<usize, String> {
    let mut seen = HashSet::from([State::begin()]);
    let mut queue = VecDeque::from([State::begin()]);
    while let Some(state) = queue.pop_front() {
        for next in state.next(rules) {
            if let Some(lost) = next.lost() {
                return Err(format!("{lost:?} is lost in {next:?}"));
            }
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    Ok(seen.len())
}

#[test]
fn nothing_that_a_shipper_was_told_of_is_lost() {
    let states = explore(ALL).unwrap_or_else(|lost| panic!("{lost}"));
    println!("{states} states");
    assert!(states > 10_000, "{states} states are not all");
}

#[test]
fn each_rule_is_needed() {
    let without = [
        Rules { keeps_takeovers: false, ..ALL },
        Rules { looks_at_the_floor: false, ..ALL },
        Rules { reads_after_loss: false, ..ALL },
    ];
    for (which, rules) in without.into_iter().enumerate() {
        assert!(explore(rules).is_err(), "rule {which}");
    }
}
