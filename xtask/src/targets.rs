//! What is expected of each target that rustup has a standard library for.

/// What becomes of the engine when it is built for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It compiles without a warning.
    Compiles,
    /// It does not compile, and gives a reason that has these words in it.
    Refused(&'static str),
    /// The target has no standard library, as on bare metal: nothing is tried.
    Bare,
    /// The tables here do not say: rustup is newer than they are.
    Unknown,
}

/// What is expected of the target of that name.
pub(crate) fn expected(target: &str) -> Expected {
    if COMPILES.contains(&target) {
        return Expected::Compiles;
    }
    let refused = REFUSED.iter().find(|(_, targets)| targets.contains(&target));
    match refused {
        Some(&(reason, _)) => Expected::Refused(reason),
        None if is_bare(target) => Expected::Bare,
        None => Expected::Unknown,
    }
}

/// The names in the tables.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    let refused = REFUSED.iter().flat_map(|(_, targets)| targets.iter());
    COMPILES.iter().chain(refused).copied()
}

/// Targets that the engine compiles for.
static COMPILES: [&str; 52] = [
    "aarch64-apple-darwin",
    "aarch64-apple-ios",
    "aarch64-apple-ios-macabi",
    "aarch64-apple-ios-sim",
    "aarch64-apple-tvos",
    "aarch64-apple-tvos-sim",
    "aarch64-apple-visionos",
    "aarch64-apple-visionos-sim",
    "aarch64-apple-watchos",
    "aarch64-apple-watchos-sim",
    "aarch64-linux-android",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "aarch64-unknown-linux-ohos",
    "arm-unknown-linux-gnueabi",
    "arm-unknown-linux-gnueabihf",
    "arm-unknown-linux-musleabi",
    "arm-unknown-linux-musleabihf",
    "armv7-unknown-linux-gnueabi",
    "armv7-unknown-linux-gnueabihf",
    "armv7-unknown-linux-musleabi",
    "armv7-unknown-linux-musleabihf",
    "armv7-unknown-linux-ohos",
    "i586-unknown-linux-gnu",
    "i586-unknown-linux-musl",
    "i686-unknown-freebsd",
    "i686-unknown-linux-gnu",
    "i686-unknown-linux-musl",
    "loongarch64-unknown-linux-gnu",
    "loongarch64-unknown-linux-musl",
    "powerpc64-unknown-linux-gnu",
    "powerpc64-unknown-linux-musl",
    "powerpc64le-unknown-linux-gnu",
    "powerpc64le-unknown-linux-musl",
    "riscv64a23-unknown-linux-gnu",
    "riscv64gc-unknown-linux-gnu",
    "riscv64gc-unknown-linux-musl",
    "s390x-unknown-linux-gnu",
    "sparc64-unknown-linux-gnu",
    "thumbv7neon-unknown-linux-gnueabihf",
    "x86_64-apple-darwin",
    "x86_64-apple-ios",
    "x86_64-apple-ios-macabi",
    "x86_64-linux-android",
    "x86_64-unknown-freebsd",
    "x86_64-unknown-illumos",
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-gnuasan",
    "x86_64-unknown-linux-gnux32",
    "x86_64-unknown-linux-musl",
    "x86_64-unknown-linux-ohos",
    "x86_64-unknown-netbsd",
];

/// Words of the reasons that the engine gives, and the targets that get each.
static REFUSED: [(&str, &[&str]); 5] = [
    ("Huon runs on Unix systems only", &NOT_UNIX),
    (
        "the C library of 32-bit Android",
        &[
            "arm-linux-androideabi",
            "armv7-linux-androideabi",
            "i686-linux-android",
            "thumbv7neon-linux-androideabi",
        ],
    ),
    (
        "share words of 64 bits",
        &[
            "armv5te-unknown-linux-gnueabi",
            "armv5te-unknown-linux-musleabi",
            "powerpc-unknown-linux-gnu",
        ],
    ),
    (
        "Huon does not know this Unix",
        &[
            "aarch64-unknown-fuchsia",
            "wasm32-unknown-emscripten",
            "x86_64-unknown-fuchsia",
            "x86_64-unknown-redox",
        ],
    ),
    ("Solaris has neither", &["sparcv9-sun-solaris", "x86_64-pc-solaris"]),
];

static NOT_UNIX: [&str; 14] = [
    "aarch64-pc-windows-gnullvm",
    "aarch64-pc-windows-msvc",
    "arm64ec-pc-windows-msvc",
    "i686-pc-windows-gnu",
    "i686-pc-windows-gnullvm",
    "i686-pc-windows-msvc",
    "wasm32-unknown-unknown",
    "wasm32-wasip1",
    "wasm32-wasip1-threads",
    "wasm32-wasip2",
    "x86_64-fortanix-unknown-sgx",
    "x86_64-pc-windows-gnu",
    "x86_64-pc-windows-gnullvm",
    "x86_64-pc-windows-msvc",
];

/// Bare metal, firmware and graphics processors.
fn is_bare(target: &str) -> bool {
    target.contains("-none") || target.ends_with("-uefi") || target.starts_with("nvptx")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_one_place() {
        let mut names: Vec<&str> = all().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(all().all(|name| !is_bare(name)));
        assert!(COMPILES.is_sorted());
        assert!(REFUSED.iter().all(|(_, targets)| targets.is_sorted()));
    }

    #[test]
    fn every_name_is_found() {
        assert_eq!(expected("aarch64-apple-darwin"), Expected::Compiles);
        let reason = "Huon runs on Unix systems only";
        assert_eq!(expected("x86_64-pc-windows-msvc"), Expected::Refused(reason));
        assert_eq!(expected("thumbv7em-none-eabi"), Expected::Bare);
        assert_eq!(expected("wasm32v1-none"), Expected::Bare);
        assert_eq!(expected("x86_64-unknown-uefi"), Expected::Bare);
        assert_eq!(expected("pdp11-unknown-unix"), Expected::Unknown);
    }
}
