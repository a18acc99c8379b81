//! Tests of the lock file, on the real and on the memory back end.

mod board;
mod files;
mod guests;
mod processes;
mod roles;
mod slots;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::layout::IMAGE_BYTES;
use super::memory::MemoryShared;
use super::role::Acquired;
use super::*;
use crate::os::beside::Beside;
use crate::os::*;

const BOOT: [u8; 16] = [7; 16];
const NOW: Duration = Duration::ZERO;
const SOON: Duration = Duration::from_millis(60);
const LONG: Duration = Duration::from_secs(20);

/// Everything that one client has.
struct Seat {
    shared: Arc<dyn Shared>,
    board: Arc<Board>,
    clients: Arc<Clients>,
    writer: Arc<Role>,
    flusher: Arc<Role>,
    slots: Arc<Slots>,
}

fn image(txnid: u64) -> [u8; IMAGE_BYTES] {
    let mut image = [0; IMAGE_BYTES];
    image.chunks_mut(8).for_each(|word| word.copy_from_slice(&txnid.to_le_bytes()));
    image
}

fn identity() -> BoardIdentity {
    let data = Identity { device: 1, inode: 2 };
    BoardIdentity { data, uuid: [3; 16], boot: BOOT, page_bytes: 4096 }
}

fn start(image: &[u8; IMAGE_BYTES]) -> Start<'_> {
    Start {
        txnid: 1,
        image,
        keep: false,
        issued: 1,
        meta_slot: 0,
        checksum: 9,
        ceiling: 1 << 32,
        place: Place::default(),
        sound: Sound::Not,
    }
}

impl Seat {
    /// Opens as an environment does; the first makes a board around snapshot 1.
    fn new(shared: Arc<dyn Shared>) -> Seat {
        let gate = Gate::lock(&shared, LONG).unwrap();
        let board = Arc::new(Board::attach(shared.clone(), &gate).unwrap());
        if board.identity().is_none() {
            board.initialise(&gate, &identity(), &start(&image(1)));
        }
        let clients = Arc::new(Clients::new(board.clone()));
        clients.join(&gate).unwrap();
        clients.register().unwrap();
        Seat {
            shared,
            board,
            writer: Arc::new(Role::new(clients.clone(), RoleKind::Writer)),
            flusher: Arc::new(Role::new(clients.clone(), RoleKind::Flusher)),
            slots: Arc::new(Slots::new(clients.clone()).unwrap()),
            clients,
        }
    }

    fn memory(file: &Arc<MemoryFile>) -> (Seat, Arc<MemoryShared>) {
        let memory = Arc::new(file.open());
        (Seat::new(memory.clone()), memory)
    }

    fn real(path: &Path) -> Seat {
        Seat::new(Arc::new(
            RealShared::open(path, Some(&Beside::of_mode(0o600, 0))).unwrap().unwrap(),
        ))
    }

    fn gate(&self) -> Gate {
        Gate::lock(&self.shared, LONG).unwrap()
    }

    fn leave(self) {
        self.clients.leave(&self.gate());
    }

    fn seal(&self, txnid: u64) -> Mark {
        self.board.seal(self.board.sealed(), txnid, &image(txnid)).unwrap()
    }

    /// Flushes what is sealed, in the order of the protocol.
    fn flush(&self, meta_slot: u8) -> Mark {
        let mark = self.board.nominate().unwrap().unwrap();
        let plan = self.plan(mark, meta_slot);
        self.board.set_candidate_plan(&plan).unwrap();
        self.board.finish_flush(&done(&plan)).unwrap();
        mark
    }

    fn plan(&self, mark: Mark, meta_slot: u8) -> FlushPlan {
        let predecessor = self.board.durable().txnid();
        FlushPlan {
            mark,
            meta_slot,
            two_flush: true,
            meta_written: false,
            predecessor,
            ceiling: mark.txnid() + 100,
            place: Place::default(),
        }
    }

    /// A reader with a pin, and the snapshot that it sees.
    fn read(&self) -> (Slot, u64) {
        let slot = self.slots.claim().unwrap();
        let mut words = [0; 4];
        let mark = self.board.read_published(&slot, &mut words);
        assert_eq!(words, [mark.txnid(); 4]);
        (slot, mark.txnid())
    }

    fn protected(&self) -> Vec<u64> {
        protected(&self.board, &self.slots)
    }
}

/// The snapshots that page reuse must respect, read as the store reads them: the marks first (P10).
/// Ascending, each once.
fn protected(board: &Board, slots: &Slots) -> Vec<u64> {
    let marks = board.protected_marks();
    let marks = [marks.in_flight, marks.durable, marks.published, marks.sealed];
    let mut all = Vec::new();
    slots.scan(&mut all).unwrap();
    all.extend(marks.map(Mark::txnid));
    all.retain(|txnid| *txnid != 0);
    all.sort_unstable();
    all.dedup();
    all
}

fn done(plan: &FlushPlan) -> Durable {
    let FlushPlan { mark, meta_slot, ceiling, .. } = *plan;
    Durable { mark, meta_slot, checksum: mark.txnid() * 7, ceiling, place: Place::default() }
}
