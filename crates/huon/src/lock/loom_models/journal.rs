//! The journaller beside a writer, readers and committers (J2, J3).

use super::*;

/// How far the journal is: three steps whose words all differ.
fn step(number: u64) -> Journaled {
    let place = Place { next: number, anchor: 10 + number, chain: 20 + number };
    Journaled { txnid: 30 + number, tail: 40 + number, place }
}

/// A client of a file with a journal, of which nothing is flushed.
fn client_with_journal(file: &Arc<MemoryFile>) -> Client {
    let client = client(file, true);
    let shared: Arc<dyn Shared> = client.shared.clone();
    let gate = Gate::lock(&shared, Duration::ZERO).expect("the gate is free");
    client.board.use_journal(&gate, 4).expect("room for the ring");
    let place = Place { next: 1, anchor: 0, chain: 7 };
    client.board.set_journaled(Some(&Journaled { txnid: 0, tail: 0, place }));
    client
}

/// The record of a snapshot: as many words as three of them do not fit the ring.
fn record(txnid: u64) -> Vec<u8> {
    [txnid; 3].iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Client {
    /// Puts a record into the ring, if there is room, and seals.
    fn seal_recorded(&self, txnid: u64) -> Mark {
        let base = self.board.sealed();
        let before = self.board.record_of(base).expect("the newest");
        let end = self.board.put_record(before.end, &record(txnid)).expect("a ring");
        let mark = end.map_or(before, |end| RecordMark { end, ..before });
        let image = image(txnid);
        let sealed = self.board.seal_used(base, txnid, (&image, IMAGE_BYTES), mark);
        sealed.expect("no other client seals")
    }

    /// What a flush of the journal takes of what is sealed, and what is journaled after it.
    fn make_batch(&self) -> (Mark, Journaled, Vec<u8>) {
        let mark = self.board.nominate_for_journal();
        let before = self.board.journaled().expect("there is a journal");
        let end = self.board.record_of(mark).expect("J2.4: it is kept").end;
        let mut taken = Vec::new();
        self.board.take_records(before.tail, end, &mut taken).expect("records");
        let place = Place { next: before.place.next + 1, ..before.place };
        (mark, Journaled { txnid: mark.txnid(), tail: end, place }, taken)
    }
}

/// J2.3: one store moves all.
#[test]
fn what_is_journaled_is_of_one_moment() {
    model(3, || {
        let file = MemoryFile::new(BOOT);
        let journaller = client(&file, true);
        let other = client(&file, false);
        journaller.board.set_journaled(Some(&step(1)));
        let moving = thread::spawn(move || {
            (2..4).for_each(|number| journaller.board.set_journaled(Some(&step(number))));
            journaller
        });
        let seen = other.board.journaled().expect("there is a journal");
        assert_eq!(seen, step(seen.place.next), "J2.3: words of two moments");
        moving.join().expect("the journaller ends");
    });
}

/// J2.4, P10: the candidate is the newest sealed one, or the writer protects it.
#[test]
fn a_candidate_for_the_journal_is_the_newest_or_protected() {
    model(3, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let journaller = client(&file, false);
        writer.seal(2);
        let flushing = thread::spawn(move || (journaller.board.nominate_for_journal(), journaller));
        let slots = Slots::new(writer.clients.clone()).unwrap();
        writer.board.publish(writer.seal(3));
        let protected = protected(&writer.board, &slots);
        let (candidate, _) = flushing.join().expect("the journaller ends");
        if candidate.txnid() == 2 {
            assert!(protected.contains(&2), "J2.4: a candidate without protection");
        }
    });
}

/// J2.1, J2.2: a journaller takes the records of what is sealed, and none is written over before.
#[test]
fn records_are_those_of_what_is_sealed() {
    model(2, || {
        let file = MemoryFile::new(BOOT);
        let writer = client_with_journal(&file);
        let journaller = client(&file, false);
        writer.seal_recorded(2);
        let flushing = thread::spawn(move || {
            let (mark, done, taken) = journaller.make_batch();
            journaller.board.finish_journal_flush(mark, &done);
            (mark, taken, journaller)
        });
        writer.seal_recorded(3);
        writer.seal_recorded(4);
        let (mark, taken, _) = flushing.join().expect("the journaller ends");
        let all: Vec<u8> = (2..=mark.txnid()).flat_map(record).collect();
        assert!(all.starts_with(&taken) && !taken.is_empty(), "J2.2: {mark:?}, {taken:?}");
    });
}

/// J3.2: what readers see lies before the place, and what committers hear of is published.
#[test]
fn the_place_moves_before_readers_see_anything() {
    model(2, || {
        let file = MemoryFile::new(BOOT);
        let writer = client_with_journal(&file);
        let journaller = client(&file, false);
        writer.seal_recorded(2);
        let (mark, done, _) = journaller.make_batch();
        let flushing = thread::spawn(move || {
            journaller.board.finish_journal_flush(mark, &done);
            journaller
        });
        let published = writer.board.published().txnid();
        let place = writer.board.journaled().expect("there is a journal").place;
        assert!(published < 2 || place.next == 2, "J3.2: the place has not moved");
        if writer.board.durable_id() == 2 {
            assert_eq!(writer.board.published().txnid(), 2, "J3.2: acknowledged first");
        }
        flushing.join().expect("the journaller ends");
    });
}
