//! A snapshot as a file of its own: `copy`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use huon::{CopyOptions, Error, Progress};

use crate::args::Copy;
use crate::draft;
use crate::fail::{Code, Failure, Outcome};
use crate::guard;
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
    if !to_pipe {
        guard::copy(&args.file, &args.target)?;
    }
    let env = open::look(&args.file)?;
    let stop = Stop::on_signals()?;
    let bar = Bar::bytes("copying");
    let mut report = |now: &Progress| {
        bar.at(now.done_bytes, now.total_bytes);
        stop.go_on()
    };
    let options = CopyOptions::new().compact(args.compact).progress(&mut report);
    let copied = if to_pipe {
        let mut out = io::stdout().lock();
        let copied = env.copy_to_writer(&mut out, options);
        out.flush()?;
        copied
    } else if args.force {
        let target = draft::meant(&args.target);
        let draft = draft::of(&target);
        let copied = env.copy_to(&draft, options);
        drop(bar);
        let Ok(_) = copied else { return ended(copied.map(drop), args, &stop) };
        return replace(&args.file, &draft, &target);
    } else {
        env.copy_to(&args.target, options)
    };
    drop(bar);
    ended(copied.map(drop), args, &stop)
}

/// What the end of a copy means.
fn ended(copied: huon::Result<()>, args: &Copy, stop: &Stop) -> Outcome {
    match copied {
        Ok(()) => Ok(Code::Fine),
        Err(_) if stop.is_asked() => {
            let text = "interrupted; no copy was left behind.";
            Err(Failure::Told(Code::Interrupted, text.into()))
        }
        // What is there is not to be lost.
        Err(Error::Io(e)) if e.source.kind() == io::ErrorKind::AlreadyExists => {
            Err(draft::in_the_way(&args.target))
        }
        Err(error) => Err(error.into()),
    }
}

/// Puts a copy in the place of another file, unless that is an environment that is in use.
fn replace(env: &Path, draft: &Path, target: &Path) -> Outcome {
    // What is there may have come to be something else meanwhile.
    let free = guard::copy(env, target).and_then(|()| refuse_open(target));
    let replaced = free.and_then(|()| {
        // It belongs to what was there, as do the commits that it may hold.
        match fs::remove_file(huon::Env::lock_path(target)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => draft::put(draft, target),
        }
        .map_err(|e| Failure::io(&format!("cannot replace {}", target.display()), &e))
    });
    if replaced.is_err() {
        // The failure that is reported says more than this one could.
        let _ = fs::remove_file(draft);
    }
    replaced.map(|()| Code::Fine)
}

fn refuse_open(target: &Path) -> Result<(), Failure> {
    match open::alone(target) {
        Err(Error::Busy(_)) => {
            let target = target.display();
            let text =
                format!("{target} is open elsewhere; close it there, or choose another name.");
            Err(Failure::Told(Code::Busy, text))
        }
        _ => Ok(()),
    }
}
