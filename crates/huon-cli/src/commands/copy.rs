//! A snapshot as a file of its own: `copy`.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use huon::{CopyOptions, Error, Progress};

use crate::args::Copy;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::progress::Bar;
use crate::stop::Stop;

/// `huon copy`.
pub(crate) fn copy(args: &Copy) -> Outcome {
    let to_pipe = args.target.as_os_str() == "-";
    if to_pipe && io::stdout().is_terminal() {
        let text = "a copy is no text for a terminal; redirect it, or name the new file.";
        return Err(Failure::usage(text));
    }
    let env = open::look(&args.file)?;
    let stop = Stop::on_signals()?;
    let bar = Bar::bytes("copying");
    let mut report = |now: &Progress| {
        bar.at(now.done_bytes, now.total_bytes);
        if stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut options = CopyOptions::new().compact(args.compact).progress(&mut report);
    let copied = if to_pipe {
        let mut out = io::stdout().lock();
        let copied = env.copy_to_writer(&mut out, &mut options);
        out.flush()?;
        copied
    } else {
        env.copy_to(&args.target, &mut options)
    };
    drop(bar);
    match copied {
        Ok(_) => Ok(Code::Fine),
        Err(_) if stop.is_asked() => {
            let text = "interrupted; no copy was left behind.";
            Err(Failure::Told(Code::Interrupted, text.into()))
        }
        // What is there is not to be lost.
        Err(Error::Io(e)) if e.source.kind() == io::ErrorKind::AlreadyExists => {
            let target = args.target.display();
            Err(Failure::usage(format!("{target} exists already; choose another name.")))
        }
        Err(error) => Err(error.into()),
    }
}
