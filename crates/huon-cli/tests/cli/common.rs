//! Running the command and looking at how it ends.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory with room for a few environments.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub(crate) fn dir(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `huon` with these arguments, in the directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.program(env!("CARGO_BIN_EXE_huon"), args)
    }

    /// `huon_NAME`, an alias, in the same way.
    pub(crate) fn tool(&self, name: &str, args: &[&str]) -> Run {
        Run::of(self.tool_command(name, args).output().unwrap())
    }

    pub(crate) fn tool_command(&self, name: &str, args: &[&str]) -> Command {
        self.program(tool_path(name), args)
    }

    /// The same with something on standard input.
    pub(crate) fn feed_tool(&self, name: &str, args: &[&str], input: &[u8]) -> Run {
        fed(self.program(tool_path(name), args), input)
    }

    fn program(&self, path: &str, args: &[&str]) -> Command {
        let mut command = Command::new(path);
        command.args(args).current_dir(self.dir());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(args).output().unwrap())
    }

    /// The same with something on standard input.
    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Run {
        fed(self.command(args), input)
    }

    /// The JSON document that a command prints which must end well.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.good(&[args, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?}: {e} in {text}"))
    }

    /// Runs what must end well, and returns what it printed.
    pub(crate) fn good(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
        run.out
    }
}

fn tool_path(name: &str) -> &'static str {
    match name {
        "chk" => env!("CARGO_BIN_EXE_huon_chk"),
        "stat" => env!("CARGO_BIN_EXE_huon_stat"),
        "copy" => env!("CARGO_BIN_EXE_huon_copy"),
        "dump" => env!("CARGO_BIN_EXE_huon_dump"),
        "load" => env!("CARGO_BIN_EXE_huon_load"),
        "drop" => env!("CARGO_BIN_EXE_huon_drop"),
        _ => panic!("no tool {name}"),
    }
}

fn fed(mut command: Command, input: &[u8]) -> Run {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command may end without reading all.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let run = Run::of(child.wait_with_output().unwrap());
    feeder.join().unwrap();
    run
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            bytes: output.stdout,
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// It failed with this code, and said one sentence that has all these words in it.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.err.trim_end().lines().count(), 1, "{self:?}");
        // The program's name and a sentence.
        assert!(self.err.starts_with("huon") && self.err.ends_with(".\n"), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "no \"{word}\" in {self:?}");
        }
    }
}

/// Sends Ctrl-C's signal to a process that this test started.
pub(crate) fn interrupt(child: &Child) {
    signal(child, "-INT");
}

/// Sends a signal that no shell makes its children ignore: a shell that starts the tests in the
/// background has them ignore Ctrl-C, and processes that do not catch it inherit that.
pub(crate) fn terminate(child: &Child) {
    signal(child, "-TERM");
}

fn signal(child: &Child, which: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([which, &id]).status().unwrap().success());
}
