//! A limit to the memory of this process, the cache of its files included: a control group of
//! version 2 or 1. Making one takes root, and a kernel that counts memory there.

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
        let Groups { root, home, limit } =
            groups().ok_or("no control groups that count memory here")?;
        let group = root.join(format!("huon-bench-{}", std::process::id()));
        let complain = |what: &str| {
            let what = format!("{}: {what}", group.display());
            move |e: std::io::Error| format!("no limit to memory: {what}: {e}")
        };
        fs::create_dir(&group).map_err(complain("mkdir"))?;
        let cage = Cage { group: group.clone(), home };
        fs::write(group.join(limit), limit_bytes.to_string()).map_err(complain(limit))?;
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

/// Where groups that count memory are made.
struct Groups {
    root: PathBuf,
    /// The one that the process is in.
    home: PathBuf,
    /// The file of a group that holds its limit.
    limit: &'static str,
}

/// A system may have both versions, and memory is counted by one of them only.
fn groups() -> Option<Groups> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let version_1 = || {
        let counts = |line: &&str| {
            line.contains(" - cgroup ") && line.rsplit([' ', ',']).any(|word| word == "memory")
        };
        let root = mounted_at(mounts.lines().find(counts)?)?;
        let home = own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(":/")?;
            controllers.split(',').any(|name| name == "memory").then_some(path)
        })?;
        Some(Groups { home: root.join(home), root, limit: "memory.limit_in_bytes" })
    };
    let version_2 = || {
        let root = mounted_at(mounts.lines().find(|line| line.contains(" - cgroup2 "))?)?;
        let home = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        Some(Groups { home: root.join(home), root, limit: "memory.max" })
    };
    version_1().or_else(version_2)
}

/// The directory of a line of `mountinfo`.
fn mounted_at(mount: &str) -> Option<PathBuf> {
    mount.split(' ').nth(4).map(PathBuf::from)
}
