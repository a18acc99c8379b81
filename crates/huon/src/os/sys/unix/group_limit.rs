//! How much memory the control groups of Linux (version 2 or 1) leave this process, the cache of
//! its files included.

use std::path::Path;

/// What the groups of this process leave it. Reads some small files of the system.
pub(super) fn of_this_process() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    group_limit(&own, Path::new("/sys/fs/cgroup"))
}

/// The least limit of the groups that `own` names (lines of `/proc/self/cgroup`) and of those they
/// lie in, mounted below `root`. A group that is not there, as one named from outside of a
/// container, limits nothing; the one at the root of the mount, which is the container's, still
/// does.
fn group_limit(own: &str, root: &Path) -> Option<u64> {
    own.lines().filter_map(|line| limit_of(line, root)).min()
}

fn limit_of(line: &str, root: &Path) -> Option<u64> {
    let (controllers, group) = line.split_once(':')?.1.split_once(":/")?;
    let (mount, file) = match controllers {
        "" => (root.to_path_buf(), "memory.max"),
        list if list.split(',').any(|name| name == "memory") => {
            (root.join("memory"), "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let group = mount.join(group);
    let groups = group.ancestors().take_while(|group| group.starts_with(&mount));
    // Where there is no limit, the file says `max`, or is not there.
    let limits = groups.filter_map(|group| std::fs::read_to_string(group.join(file)).ok());
    limits.filter_map(|limit| limit.trim().parse().ok()).min()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn with(files: &[(&str, &str)], own: &str) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        group_limit(own, root.path())
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no files of the system")]
    fn the_least_limit_on_the_way_up_counts() {
        let two = [("a/b/memory.max", "max\n"), ("a/memory.max", "300\n"), ("memory.max", "400\n")];
        assert_eq!(with(&two, "0::/a/b\n"), Some(300));
        assert_eq!(with(&two, "0::/\n"), Some(400));
        let one = [
            ("memory/d/memory.limit_in_bytes", "500\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(with(&one, "5:cpu:/x\n4:hugetlb,memory:/d\n0::/\n"), Some(500));
        assert_eq!(with(&one, "4:memory:/\n"), Some(9223372036854771712));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no files of the system")]
    fn a_container_sees_its_own_limit_at_the_root() {
        let files = [("memory/memory.limit_in_bytes", "700")];
        assert_eq!(with(&files, "4:memory:/docker/0123\n"), Some(700));
        assert_eq!(with(&[("memory.max", "800")], "0::/../0123\n"), Some(800));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no files of the system")]
    fn what_says_nothing_limits_nothing() {
        assert_eq!(with(&[], ""), None);
        assert_eq!(with(&[], "0::/a"), None);
        assert_eq!(with(&[("memory.max", "max")], "0::/\nnonsense\n:\n1:memory\n"), None);
        assert_eq!(with(&[("memory.max", "-1"), ("a/memory.max", "")], "0::/a"), None);
    }
}
