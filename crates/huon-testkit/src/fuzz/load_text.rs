//! Text that is to be loaded.

use huon::sim::SimDisk;
use huon::{Durability, Env};
use huon_text::{DumpOptions, Error, LoadOptions};

use super::Choices;

const RESERVE_BYTES: u64 = 4 << 20;

fn env() -> Env {
    let disk = SimDisk::new(RESERVE_BYTES).expect("a machine").quiet();
    let mut options = Env::options();
    options.page_bytes(512).max_bytes(RESERVE_BYTES);
    options.open_simulated(&disk).expect("an environment")
}

fn load(env: &Env, text: &[u8]) -> Result<(), Error> {
    let options = LoadOptions::new().durability(Durability::Lazy);
    huon_text::load(env, &mut &*text, options).map(drop)
}

/// The text of what an environment holds.
fn dump(env: &Env) -> Vec<u8> {
    let mut text = Vec::new();
    huon_text::dump(env, &mut text, DumpOptions::new()).expect("a dump");
    text
}

/// Loads these bytes, as they are or behind a good header. Whatever was taken in is sound, and
/// comes back the same through its own text.
pub fn load_text(data: &[u8]) {
    let mut choices = Choices::new(data);
    let head: &[u8] = choices.pick(&[
        &b""[..],
        b"VERSION=3\nformat=print\ntype=btree\ndatabase=t\nHEADER=END\n",
        b"VERSION=3\nformat=bytevalue\ntype=btree\nHEADER=END\n",
        b"VERSION=3\nformat=bytevalue\ntype=btree\ndatabase=n\nintegerkey=1\nHEADER=END\n",
        b"VERSION=3\nformat=print\ntype=btree\ndatabase=r\nreversekey=1\nHEADER=END\n",
    ]);
    let text = [head, choices.rest()].concat();
    let first = env();
    match load(&first, &text) {
        Ok(()) | Err(Error::Input(_) | Error::Store(huon::Error::MapFull(_))) => {}
        Err(error) => panic!("{error}"),
    }
    assert!(first.check().expect("a check").is_clean());
    let dumped = dump(&first);
    let second = env();
    load(&second, &dumped).expect("its own text");
    assert!(dump(&second) == dumped, "another text");
    // Loading it again changes nothing.
    load(&first, &dumped).expect("its own text");
    assert!(dump(&first) == dumped, "changed by its own text");
}
