//! Where and how a run is made.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::engine::Result;
use crate::record::Machine;

/// The machine, and the file system that `dir` lies on.
pub(crate) fn machine(dir: &Path, scale: f64, repeats: u32) -> Result<Machine> {
    let cpu = read("/proc/cpuinfo");
    let cpu_model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": ?");
    Ok(Machine {
        cores: std::thread::available_parallelism()?.get() as u64,
        cpu_model: cpu_model.trim_start_matches([' ', '\t', ':']).to_owned(),
        memory_bytes: crate::measure::field(&read("/proc/meminfo"), "MemTotal:").unwrap_or(0)
            * 1024,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        file_system: file_system(dir)?,
        date: today(),
        commit: env!("HUON_COMMIT").to_owned(),
        scale,
        repeats,
    })
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The kind of file system, as the list of mounts has it.
fn file_system(dir: &Path) -> Result<String> {
    let device = std::fs::metadata(dir)?.dev();
    let number = format!("{}:{}", nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let mounts = read("/proc/self/mountinfo");
    let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some(number.as_str()));
    let kind = mount.and_then(|line| line.split_once(" - ")?.1.split(' ').next());
    Ok(kind.unwrap_or("unknown").to_owned())
}

fn today() -> String {
    let output = Command::new("date").arg("+%F").output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}
