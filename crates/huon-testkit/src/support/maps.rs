//! What the kernel says of the maps of this process.

use std::path::Path;

/// Whether the kernel reads no neighbours of an accessed page of the file, in its first map here
/// (`rr` in `/proc/self/smaps`; Linux only).
///
/// # Panics
/// If the file is not mapped, or the kernel does not say.
pub fn is_read_alone(path: &Path) -> bool {
    let path = path.canonicalize().expect("the file is there");
    let path = path.to_str().expect("its name is text");
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("the system says");
    let of_file = maps.lines().skip_while(|line| !line.ends_with(path));
    let flags = of_file.into_iter().find_map(|line| line.strip_prefix("VmFlags:"));
    flags.expect("the file is mapped").split(' ').any(|flag| flag == "rr")
}
