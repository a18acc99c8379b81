//! The languages, and how each builds and tests: in its own words, as a person would type them in
//! its folder.

use super::tools::Tool;

/// A language with a binding.
pub(super) struct Language {
    /// As it is asked for, which is also the name of its folder.
    pub(super) name: &'static str,
    pub(super) shown: &'static str,
    pub(super) tools: &'static [Tool],
    /// Commands that build, one after another.
    pub(super) build: &'static [&'static str],
    /// Commands that test it. One of them says what it has run of the conformance file.
    pub(super) test: &'static [&'static str],
    /// The command that runs its part of the exchange alone.
    pub(super) exchange: &'static str,
    /// Its tests are among those of the workspace.
    pub(super) is_of_workspace: bool,
}

/// Builds `libhuon`, without tables of lines. Cargo does it once for all.
const LIBRARY: &str = "cargo build --quiet --profile capi -p huon-capi";

const GO_LEAST: (u32, u32) = (1, 24);
const PYTHON_LEAST: (u32, u32) = (3, 11);
const NODE_LEAST: (u32, u32) = (20, 17);
const MAVEN_LEAST: (u32, u32) = (3, 8);

pub(super) const JDK: Tool = Tool { program: "java", asks: "-version", least: (25, 0) };

/// All of them, as `cargo xtask bindings` takes them.
pub(super) const LANGUAGES: [Language; 5] = [
    Language {
        name: "cpp",
        shown: "C and C++",
        tools: &[
            Tool { program: "cc", asks: "--version", least: (0, 0) },
            Tool { program: "c++", asks: "--version", least: (0, 0) },
        ],
        build: &[LIBRARY],
        test: &[
            "cargo test --quiet -p huon-capi --test programs",
            "cargo test --quiet -p huon-capi --test api conformance -- --nocapture",
        ],
        exchange: "${HUON_RUNNER:-cargo test --quiet -p huon-capi --test api --} \
                   a_file_is_exchanged",
        is_of_workspace: true,
    },
    Language {
        name: "go",
        shown: "Go",
        tools: &[
            Tool { program: "go", asks: "version", least: GO_LEAST },
            Tool { program: "cc", asks: "--version", least: (0, 0) },
        ],
        build: &[
            LIBRARY,
            "mkdir -p lib && cp ../../crates/huon-capi/include/huon.h lib",
            "cp \"$CARGO_TARGET_DIR/capi/libhuon_capi.a\" lib/libhuon.a",
            // Go's cache sees this, and no library.
            "cksum lib/huon.h lib/libhuon.a | sed 's|.*|\"&\"|' > stamp.h",
            "go build ./...",
        ],
        test: &[
            "go vet ./...",
            "go test -count=1 -v -run '^TestConformance$' .",
            "go test -count=1 -race ./...",
            "GOEXPERIMENT=cgocheck2 go test -count=1 -short ./...",
        ],
        exchange: "go test -count=1 -run '^TestExchange$' .",
        is_of_workspace: false,
    },
    Language {
        name: "java",
        shown: "Java",
        tools: &[JDK, Tool { program: "mvn", asks: "--version", least: MAVEN_LEAST }],
        build: &["mvn -q -B -Dmaven.test.skip install"],
        test: &["mvn -q -B verify"],
        exchange: "mvn -q -B test -Dtest=ConformanceTest#filesOfAllLanguages",
        is_of_workspace: false,
    },
    Language {
        name: "node",
        shown: "Node",
        tools: &[
            Tool { program: "node", asks: "--version", least: NODE_LEAST },
            Tool { program: "npm", asks: "--version", least: (9, 0) },
        ],
        build: &["npm ci --no-audit --no-fund --loglevel=error", "npm run --silent build"],
        test: &["npm test --silent"],
        exchange: "node --test test/conformance.test.js",
        is_of_workspace: false,
    },
    Language {
        name: "python",
        shown: "Python",
        tools: &[Tool { program: "python3", asks: "--version", least: PYTHON_LEAST }],
        build: &[
            "test -e .venv/bin/python || python3 -m venv .venv",
            ".venv/bin/pip install --quiet --disable-pip-version-check -e '.[test]'",
        ],
        test: &[".venv/bin/python -m pytest -q"],
        exchange: ".venv/bin/python -m pytest -q tests/test_conformance.py",
        is_of_workspace: false,
    },
];
