//! Files that follow another one, in processes that fork.

use std::path::Path;

use huon::{BackupOptions, Durability, Error, Replica};

use super::heirs::{apart, end_of, forked, has, put};
use super::small;

/// A file beside `path` follows one in memory.
pub(super) fn follow(path: &Path) -> huon::Result<()> {
    let source = small().open_in_memory()?;
    put(&source, b"at the source", Durability::Durable)?;
    let capture = source.capture()?;
    let env = small().replica_of(capture.image()).open(path.with_extension("replica"))?;
    let mut replica = Replica::of(env, capture.image())?;
    let mut backup = Vec::new();
    capture.backup_to(&mut backup, BackupOptions::new())?;
    replica.add(&mut &backup[..]).map(drop)
}

#[test]
fn a_child_of_a_follower_takes_nothing_over() {
    apart("followers::a_child_of_a_follower_takes_nothing_over", |dir| {
        let source = small().open_in_memory().unwrap();
        let mut last = source.capture().unwrap();
        let env = small().replica_of(last.image()).open(dir.join("replica")).unwrap();
        let mut replica = Replica::of(env, last.image()).unwrap();
        for n in 0..3u8 {
            put(&source, &[n], Durability::Durable).unwrap();
            let capture = source.capture().unwrap();
            let (mut backup, since) = (Vec::new(), last.image().name());
            capture.backup_to(&mut backup, BackupOptions::new().since(since)).unwrap();
            let child = forked(|| {
                let added = replica.add(&mut &backup[..]);
                let is_whole = replica.env().check().is_ok_and(|check| check.is_clean());
                i32::from(!matches!(added, Err(Error::Forked)) || !is_whole)
            });
            assert_eq!(end_of(child), 0);
            replica.add(&mut &backup[..]).unwrap();
            assert!(has(replica.env(), &[n]));
            last = capture;
        }
    });
}
