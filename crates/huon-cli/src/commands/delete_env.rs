//! An environment's files: `delete-env`.

use std::time::Duration;

use huon::{Env, Error, MetaInfo};

use crate::args::DeleteEnv;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::text::{many, size};

/// `huon delete-env`.
pub(crate) fn delete(args: &DeleteEnv) -> Outcome {
    let path = args.file.display();
    if !args.file.try_exists().unwrap_or(true) {
        let text = format!("there is no {path}; nothing was deleted.");
        return Err(Failure::Told(Code::Problems, text));
    }
    if !args.yes {
        let what = what_there_is(args)?;
        let text =
            format!("{path} and its lock file would be deleted: {what}; add --yes to do it.");
        return Err(Failure::usage(text));
    }
    if Env::delete_within(&args.file, Duration::from_secs(args.wait))? {
        Ok(Code::Fine)
    } else {
        Err(Failure::Told(Code::Problems, format!("there is no {path} any more.")))
    }
}

/// What would be lost.
fn what_there_is(args: &DeleteEnv) -> Result<String, Failure> {
    let metas = Env::metas_of(&args.file)?;
    let used = metas.iter().filter_map(MetaInfo::snapshot).map(|s| s.used_bytes).max();
    let used = used.map_or("a damaged file".into(), size);
    match open::alone(&args.file).and_then(|env| env.stat()) {
        Ok(stat) => {
            let all: u64 = stat.tables.iter().map(|table| table.entries).sum();
            let named = stat.tables.len() as u64 - 1;
            let records = many(all.saturating_sub(named), "record");
            Ok(format!("{used} with {records} in {}", many(named + 1, "table")))
        }
        Err(busy @ Error::Busy(_)) => Err(busy.into()),
        // What is damaged can be deleted, too.
        Err(_) => Ok(format!("{used}, and some of it cannot be read")),
    }
}
