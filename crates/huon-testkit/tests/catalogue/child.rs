//! Child processes: this test binary again, running one test, told by its environment which part to
//! play. Parent and child talk in lines.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

const PART: &str = "HUON_CATALOGUE_PART";
/// What a child says begins with it; the rest of its output is the test harness's.
const MARK: char = '@';

/// The part this process has to play; `None` in the parent.
pub(crate) fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// Says a line to the parent.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{text}").unwrap();
    out.flush().unwrap();
}

/// The parent's next line; `None` when it has no more to say.
pub(crate) fn listen() -> Option<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    (!line.is_empty()).then(|| line.trim_end().to_owned())
}

/// A child process; killed when dropped.
pub(crate) struct Child {
    process: std::process::Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// Starts `test` of this binary in a process that plays `part` with the file at `path`.
    pub(crate) fn start(test: &str, part: &str, path: impl AsRef<OsStr>) -> Child {
        Child::start_under(&[], test, part, path)
    }

    /// The same, started by another program.
    pub(crate) fn start_under(
        program: &[&str],
        test: &str,
        part: &str,
        path: impl AsRef<OsStr>,
    ) -> Child {
        let exe = std::env::current_exe().unwrap();
        let mut command = match program {
            [] => Command::new(exe),
            [program, args @ ..] => {
                let mut command = Command::new(program);
                command.args(args).arg(exe);
                command
            }
        };
        let mut process = command
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .env("HUON_CATALOGUE_PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Child { process, input, output }
    }

    /// Says a line to the child.
    pub(crate) fn tell(&mut self, text: &str) {
        let input = self.input.as_mut().expect("it is still told things");
        writeln!(input, "{text}").unwrap();
    }

    /// What the child says next.
    pub(crate) fn hear(&mut self) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                panic!("the child ended before it said what was expected: {all}");
            }
            if let Some((_, said)) = line.split_once(MARK) {
                return said.trim_end().to_owned();
            }
            all.push_str(&line);
        }
    }

    /// Says a line and hears the answer.
    pub(crate) fn ask(&mut self, text: &str) -> String {
        self.tell(text);
        self.hear()
    }

    /// SIGKILL. One that was started under another program dies some time after that: its output
    /// ends then.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
    }

    /// Tells the child that there is no more to come; it must end well.
    pub(crate) fn finish(mut self) {
        drop(self.input.take());
        let mut rest = String::new();
        while self.output.read_line(&mut rest).unwrap() > 0 {}
        let status = self.process.wait().unwrap();
        assert!(status.success(), "the child failed, {status}: {rest}");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The path that the parent named.
pub(crate) fn path() -> std::path::PathBuf {
    std::env::var_os("HUON_CATALOGUE_PATH").expect("the parent named a path").into()
}
