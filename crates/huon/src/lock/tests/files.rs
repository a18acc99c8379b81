use super::*;
use crate::error::Error;
use crate::os::testing::process::{
    block_bytes, close, limit_addresses, limit_files, mode_of, symlink, without_streams,
};
use crate::os::testing::{ScratchDir, in_both_ways, in_child};

#[test]
fn a_lock_file_is_made_or_not() {
    let scratch = ScratchDir::new();
    let path = scratch.join("lock");
    assert!(RealShared::open(&path, None).unwrap().is_none());
    let made = RealShared::open(&path, Some(&Beside::of_mode(0o640, 0))).unwrap().unwrap();
    assert_eq!(mode_of(&std::fs::metadata(&path).unwrap()), 0o640);
    assert!(made.words().is_empty() && made.intact());
    let again = RealShared::open(&path, Some(&Beside::of_mode(0o600, 0))).unwrap().unwrap();
    assert_eq!(mode_of(&std::fs::metadata(&path).unwrap()), 0o640);
    assert_eq!(made.boot(), again.boot());
    assert_ne!(made.boot(), [0; 16]);
}

#[test]
fn what_is_no_file_is_refused() {
    let scratch = ScratchDir::new();
    let refused = |name: &str| match RealShared::open(
        &scratch.join(name),
        Some(&Beside::of_mode(0o600, 0)),
    ) {
        Err(Error::NotADatabase(text)) => text.to_string(),
        Err(e) => panic!("{name}: {e}"),
        Ok(_) => panic!("{name} was opened"),
    };
    std::fs::create_dir(scratch.join("directory")).unwrap();
    assert!(refused("directory").contains("directory"));
    std::fs::write(scratch.join("target"), "").unwrap();
    symlink(scratch.join("target"), scratch.join("link")).unwrap();
    assert!(refused("link").contains("symbolic link"));
    let fifo = std::process::Command::new("mkfifo").arg(scratch.join("fifo")).status().unwrap();
    assert!(fifo.success());
    assert!(refused("fifo").contains("not a regular file"));
    for letter in [&b"x"[..], b"letter."] {
        std::fs::write(scratch.join("letter"), letter).unwrap();
        assert!(refused("letter").contains("too short"));
        assert_eq!(std::fs::read(scratch.join("letter")).unwrap(), letter);
    }
    let missing = RealShared::open(&scratch.join("no/where"), Some(&Beside::of_mode(0o600, 0)));
    assert!(matches!(missing, Err(Error::Io(_))));
}

#[test]
fn growth_is_real_and_seen_by_others() {
    let scratch = ScratchDir::new();
    let path = scratch.join("lock");
    let a = RealShared::open(&path, Some(&Beside::of_mode(0o600, 0))).unwrap().unwrap();
    let b = RealShared::open(&path, None).unwrap().unwrap();
    a.grow(100_000).unwrap();
    let found = std::fs::metadata(&path).unwrap();
    assert_eq!(found.len(), 800_000);
    assert!(block_bytes(&path) >= 800_000, "P14: allocated, not sparse");
    assert!(b.words().is_empty());
    b.refresh().unwrap();
    assert_eq!(b.words().len(), 100_000);
    a.words()[99_999].store(5, word::Ordering::Release);
    assert_eq!(b.words()[99_999].load(word::Ordering::Acquire), 5);
    b.grow(50).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 800_000, "never shorter");
    assert!(matches!(a.grow(usize::MAX >> 4), Err(Error::Io(_))));
}

#[test]
fn growth_without_room_is_an_error() {
    in_child(concat!(module_path!(), "::growth_without_room_is_an_error"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let a = RealShared::open(&path, Some(&Beside::of_mode(0o600, 0))).unwrap().unwrap();
        a.grow(1000).unwrap();
        limit_files(100_000);
        assert!(matches!(a.grow(100_000), Err(Error::Io(_))));
        assert_eq!((a.words().len(), std::fs::metadata(&path).unwrap().len()), (1000, 8000));
        a.grow(10_000).unwrap();
        assert_eq!(a.words().len(), 10_000);
    });
}

#[test]
fn a_small_address_space_is_enough() {
    in_child(concat!(module_path!(), "::a_small_address_space_is_enough"), || {
        limit_addresses(200 << 20);
        let scratch = ScratchDir::new();
        let a = Seat::real(&scratch.join("lock"));
        assert_eq!(a.read().1, 1);
    });
}

#[test]
fn bytes_and_gate_exclude_descriptors_and_threads() {
    in_both_ways(
        concat!(module_path!(), "::bytes_and_gate_exclude_descriptors_and_threads"),
        || {
            let scratch = ScratchDir::new();
            let path = scratch.join("lock");
            let open = || -> Arc<dyn Shared> {
                Arc::new(
                    RealShared::open(&path, Some(&Beside::of_mode(0o600, 0))).unwrap().unwrap(),
                )
            };
            let (a, b) = (open(), open());
            assert!(a.claim(3).unwrap() && !b.claim(3).unwrap() && b.claim(4).unwrap());
            assert!(b.held(3).unwrap() && a.held(4).unwrap());
            assert!(!a.held(3).unwrap(), "P2: a descriptor does not see its own");
            a.release(3);
            assert!(!b.held(3).unwrap());
            drop(b);
            assert!(!a.held(4).unwrap());

            let b = open();
            let gate = Gate::lock(&a, NOW).unwrap();
            assert!(Gate::try_lock(&b, SOON).unwrap().is_none(), "another descriptor");
            assert!(
                Gate::try_lock(&a, SOON).unwrap().is_none(),
                "another thread of the same client"
            );
            assert!(matches!(Gate::lock(&b, NOW), Err(Error::Busy(_))));
            let waiting = std::thread::spawn(move || Gate::lock(&b, LONG).map(drop));
            std::thread::sleep(SOON);
            drop(gate);
            waiting.join().unwrap().unwrap();
            assert!(Gate::try_lock(&a, NOW).unwrap().is_some());
        },
    );
}

/// P6: neither sees the locks of the other, so the second is refused while the first may be there.
#[test]
fn clients_that_lock_in_another_way_are_refused() {
    for ways in [[Way::Bytes, Way::Files], [Way::Files, Way::Bytes]] {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let [shared, other] = ways.map(|way| -> Arc<dyn Shared> {
            Arc::new(
                RealShared::open_by(&path, Some(&Beside::of_mode(0o600, 0)), |_| Ok(way))
                    .unwrap()
                    .unwrap(),
            )
        });
        let seat = Seat::new(shared);
        let this_boot = BoardIdentity { boot: seat.shared.boot(), ..identity() };
        seat.board.initialise(&seat.gate(), &this_boot, &start(&image(1)));
        let attach = || Board::attach(other.clone(), &Gate::lock(&other, LONG).unwrap());
        match attach() {
            Err(Error::NotADatabase(text)) => assert!(text.contains("P6"), "{text}"),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("{ways:?} go together"),
        }
        assert_eq!(seat.board.identity(), Some(this_boot));
        let gone = "what it says is for others, which are gone";
        seat.board.set_flag(Flag::CleanClose, true);
        assert_eq!(attach().unwrap().identity(), None, "{gone}: closed cleanly");
        seat.board.initialise(&seat.gate(), &identity(), &start(&image(1)));
        assert_eq!(attach().unwrap().identity(), None, "{gone}: another boot");
    }
}

/// P5, P6: a client that has lost the lock of its own file is no client any more, though it has all
/// the rest.
#[test]
fn a_closed_file_of_a_client_is_noticed() {
    in_child(concat!(module_path!(), "::a_closed_file_of_a_client_is_noticed"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let shared =
            RealShared::open_by(&path, Some(&Beside::of_mode(0o600, 0)), |_| Ok(Way::Files));
        let seat = Seat::new(Arc::new(shared.unwrap().unwrap()));
        assert!(
            seat.shared.intact()
                && seat.writer.acquire(NOW).is_ok()
                && seat.writer.check_ours().is_ok()
        );
        let own = std::fs::read_dir("/proc/self/fd").unwrap().find_map(|entry| {
            let entry = entry.unwrap();
            let target = std::fs::read_link(entry.path()).ok()?;
            let number = entry.file_name().to_str()?.parse().ok()?;
            (target == scratch.join("lock-0")).then_some(number)
        });
        close([own.expect("the client's file is open")]);
        assert!(!seat.shared.intact() && seat.writer.check_ours().is_err());
        let other = RealShared::open_by(&path, None, |_| Ok(Way::Files)).unwrap().unwrap();
        assert!(!other.held(0).unwrap(), "and every client sees it");
    });
}

/// P6: the files of clients stay, are taken again, and are of this client while it lives.
#[test]
fn clients_have_files_where_bytes_cannot_be_locked() {
    let scratch = ScratchDir::new();
    let path = scratch.join("lock");
    let open = || -> Arc<dyn Shared> {
        let shared =
            RealShared::open_by(&path, Some(&Beside::of_mode(0o640, 0)), |_| Ok(Way::Files));
        Arc::new(shared.unwrap().unwrap())
    };
    let (a, b) = (Seat::new(open()), Seat::new(open()));
    assert_eq!((a.clients.me().number, b.clients.me().number), (0, 1));
    for number in 0..2 {
        let stat = std::fs::metadata(scratch.join(&format!("lock-{number}"))).unwrap();
        assert_eq!((stat.len(), mode_of(&stat)), (0, 0o640));
    }
    assert!(!scratch.join("lock-2").exists());
    let first = a.clients.me();
    assert!(b.clients.is_alive(first).unwrap());
    // Asking does not take: several may ask, and the number can be taken again.
    a.leave();
    assert!(!b.clients.is_alive(first).unwrap() && !b.shared.held(0).unwrap());
    let c = Seat::new(open());
    assert_eq!(c.clients.me().number, 0);
    assert!(c.clients.me().generation > first.generation);
    assert_eq!(c.clients.list().unwrap().len(), 2);
    assert!(scratch.join("lock-1").exists());
}

/// P5: a daemon that closes everything must not be taken for a client, nor touch the file whose
/// number it has by then.
#[test]
fn a_closed_descriptor_is_noticed() {
    in_both_ways(concat!(module_path!(), "::a_closed_descriptor_is_noticed"), || {
        let scratch = ScratchDir::new();
        let a = Seat::real(&scratch.join("lock"));
        let gate = a.gate();
        close(3..100);
        // Its lock does not last: others get in.
        drop(gate);
        let other: Vec<_> =
            (0..10).map(|n| std::fs::File::create(scratch.join(&n.to_string())).unwrap()).collect();
        assert!(!a.shared.intact() && a.writer.check_ours().is_err());
        assert!(matches!(a.flusher.acquire(NOW), Err(Error::Io(_))));
        // A writer may begin where its byte lasts: what it does next is to ask.
        match a.writer.acquire(NOW) {
            Ok(_) => {
                assert!(a.shared.lasts() && a.writer.check_descriptor().is_err());
                assert!(matches!(a.shared.pinned(&(1..=9)), Err(Error::Io(_))));
            }
            Err(error) => assert!(matches!(error, Error::Io(_)) && !a.shared.lasts()),
        }
        assert!(matches!(a.slots.claim(), Err(Error::Io(_))));
        assert!(matches!(Gate::lock(&a.shared, NOW), Err(Error::Io(_))));
        let b = Seat::real(&scratch.join("lock"));
        // It lives: where its byte lasts no client takes it for dead before it ends.
        let (number, lasts) = (a.clients.me().number, a.shared.lasts());
        assert_eq!(b.clients.me().number == number, !lasts);
        assert_eq!(b.clients.is_alive(a.clients.me()).unwrap(), lasts);
        drop(a);
        assert!(!b.shared.held(number).unwrap());
        for file in &other {
            assert_eq!(file.metadata().unwrap().len(), 0, "still open, still empty");
        }
    });
}

/// A daemon that closed its standard streams prints into no lock file, nor into a client's.
#[test]
fn no_descriptor_is_that_of_a_standard_stream() {
    in_both_ways(concat!(module_path!(), "::no_descriptor_is_that_of_a_standard_stream"), || {
        let scratch = ScratchDir::new();
        let ((_seats, alive), open) = without_streams(|| {
            let seats = [Seat::real(&scratch.join("lock")), Seat::real(&scratch.join("lock"))];
            let alive = seats[0].clients.is_alive(seats[1].clients.me());
            (seats, alive)
        });
        assert_eq!(open, [false; 3]);
        assert!(alive.unwrap());
    });
}
