//! The orders of a child process: one line in its environment.

use huon::Options;
use huon::sim::Point;

/// The environment variables of a child.
pub(crate) const ORDERS: &str = "HUON_TORTURE_ORDERS";
pub(crate) const DATA_PATH: &str = "HUON_TORTURE_DATA";
pub(crate) const LEDGER_PATH: &str = "HUON_TORTURE_LEDGER";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Writer,
    Reader,
    /// A reader of another user, without write permission.
    Guest,
}

/// What it does where it was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// It waits there to be killed, or for the word to go on.
    WaitThere,
    /// It only says that it came there: what follows is itself a wait.
    PassOn,
    /// It forks, and waits there to be killed. The child lives on.
    Fork,
}

/// Where it does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At a point of the engine.
    Point(Point),
    /// In the middle of its transaction, in its own code.
    InTransaction,
    /// Between two transactions.
    Outside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) place: Place,
    /// It passes so many times before.
    pub(crate) passes: u64,
    pub(crate) act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) role: Role,
    pub(crate) seat: usize,
    pub(crate) seed: u64,
    pub(crate) stop: Option<Stop>,
    pub(crate) threads: usize,
    /// How many commits in a hundred are lazy.
    pub(crate) lazy: u64,
    pub(crate) page_bytes: usize,
    /// Whether its file has a journal.
    pub(crate) journal: bool,
    /// The process that gives the orders.
    pub(crate) supervisor: u32,
    /// It waits at points now and then, so that each phase takes some time.
    pub(crate) dawdles: bool,
}

const IN_TRANSACTION: u64 = 255;
const OUTSIDE: u64 = 254;
const ROLES: [Role; 3] = [Role::Writer, Role::Reader, Role::Guest];
const ACTS: [Act; 3] = [Act::WaitThere, Act::PassOn, Act::Fork];

impl Orders {
    pub(crate) fn to_text(self) -> String {
        let place = |place| match place {
            Place::Point(point) => point as u64,
            Place::InTransaction => IN_TRANSACTION,
            Place::Outside => OUTSIDE,
        };
        let stop = self.stop.map_or([0; 4], |stop| {
            [
                1,
                place(stop.place),
                stop.passes,
                ACTS.iter().position(|a| *a == stop.act).unwrap_or(0) as u64,
            ]
        });
        let words = [
            ROLES.iter().position(|role| *role == self.role).unwrap_or(0) as u64,
            self.seat as u64,
            self.seed,
            self.threads as u64,
            self.lazy,
            self.page_bytes as u64,
            u64::from(self.supervisor),
            u64::from(self.dawdles),
            u64::from(self.journal),
        ];
        let words = words.iter().chain(&stop).map(u64::to_string);
        words.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn of_text(text: &str) -> Option<Orders> {
        let words: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
        let words: [u64; 13] = words?.try_into().ok()?;
        let [role, seat, seed, threads, lazy, page_bytes, supervisor, dawdles, journal, ..] = words;
        let [.., stops, place, passes, act] = words;
        let place = match place {
            IN_TRANSACTION => Place::InTransaction,
            OUTSIDE => Place::Outside,
            number => Place::Point(*Point::ALL.get(number as usize)?),
        };
        let stop = Stop { place, passes, act: *ACTS.get(act as usize)? };
        Some(Orders {
            role: *ROLES.get(role as usize)?,
            seat: seat as usize,
            seed,
            stop: (stops == 1).then_some(stop),
            threads: threads as usize,
            lazy,
            page_bytes: page_bytes as usize,
            journal: journal == 1,
            supervisor: supervisor as u32,
            dawdles: dawdles == 1,
        })
    }

    /// How it opens the environment.
    pub(crate) fn options(&self) -> Options {
        super::options(self.page_bytes, self.journal)
    }

    pub(crate) fn stops_at(&self, place: Place) -> bool {
        self.stop.is_some_and(|stop| stop.place == place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_arrive() {
        let places = [Place::Point(Point::CloseLeft), Place::InTransaction, Place::Outside];
        for ((place, act), role) in places.into_iter().zip(ACTS).zip(ROLES) {
            let orders = Orders {
                role,
                seat: 3,
                seed: u64::MAX,
                stop: Some(Stop { place, passes: 2, act }),
                threads: 2,
                lazy: 40,
                page_bytes: 512,
                journal: true,
                supervisor: 77,
                dawdles: true,
            };
            assert_eq!(Orders::of_text(&orders.to_text()), Some(orders));
            let orders = Orders { stop: None, ..orders };
            assert_eq!(Orders::of_text(&orders.to_text()), Some(orders));
        }
    }
}
