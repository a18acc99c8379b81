//! A limit to the memory of this process, the cache of its files included: a group of version 2 of
//! the system's control groups. Making one takes root, and a system that counts memory there.

use std::fs;
use std::path::PathBuf;

/// While it lives, the process stays below the limit.
pub(crate) struct Cage {
    group: PathBuf,
    /// Where the process was before.
    home: PathBuf,
}

impl Cage {
    /// Goes in; or says why there is none.
    pub(crate) fn enter(limit_bytes: u64) -> Result<Cage, String> {
        let (group, home) = paths().ok_or("no control groups of version 2 here")?;
        let complain = |what: &str| {
            let what = format!("{}: {what}", group.display());
            move |e: std::io::Error| format!("no limit to memory: {what}: {e}")
        };
        fs::create_dir(&group).map_err(complain("mkdir"))?;
        let cage = Cage { group: group.clone(), home };
        fs::write(group.join("memory.max"), limit_bytes.to_string())
            .map_err(complain("memory.max"))?;
        fs::write(group.join("cgroup.procs"), std::process::id().to_string())
            .map_err(complain("cgroup.procs"))?;
        Ok(cage)
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        // Best effort: an empty group costs nothing.
        let _ = fs::write(self.home.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(&self.group);
    }
}

/// A new group, and the one the process is in.
fn paths() -> Option<(PathBuf, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let root = PathBuf::from(mount.split(' ').nth(4)?);
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let home = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some((root.join(format!("huon-bench-{}", std::process::id())), root.join(home)))
}
