//! Named snapshots: `snapshots`, `name-snapshot`, `drop-snapshot`.

use std::collections::HashMap;

use huon::{RetainedBy, RetainedSnapshot};
use serde_json::json;

use crate::args::{DropSnapshot, Look, NameSnapshot};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::text::size;

/// `huon snapshots`.
pub(crate) fn list(args: &Look) -> Outcome {
    let env = open::look(&args.file)?;
    let named = env.named_snapshots()?;
    let stat = env.stat()?;
    let by_name = |one: &&RetainedSnapshot| one.by == RetainedBy::Name;
    let retained = stat.retained_snapshots.iter().filter(by_name);
    let retained: HashMap<u64, u64> = retained.map(|one| (one.txnid, one.pages)).collect();
    let mut out = Out::new();
    for one in &named {
        let pages = retained.get(&one.snapshot.id).copied().unwrap_or_default();
        let bytes = pages * u64::from(stat.page_bytes);
        if args.json {
            out.json(&json!({
                "name": one.name,
                "snapshot": one.snapshot.id,
                "checksum": format!("{:016x}", one.snapshot.checksum),
                "retained_bytes": bytes,
            }))?;
        } else {
            let (id, name) = (one.snapshot.id, one.name.escape_debug());
            out.line(format!("{name}: snapshot {id}, retains {}", size(bytes)))?;
        }
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// `huon name-snapshot`.
pub(crate) fn name(args: &NameSnapshot) -> Outcome {
    let env = open::change(&args.file, &args.writing, false)?;
    let capture = env.capture()?;
    env.update(|txn| txn.name_snapshot(&args.name, &capture))?;
    Ok(Code::Fine)
}

/// `huon drop-snapshot`.
pub(crate) fn drop(args: &DropSnapshot) -> Outcome {
    let env = open::change(&args.file, &args.writing, false)?;
    if env.update(|txn| txn.drop_snapshot(&args.name))? {
        Ok(Code::Fine)
    } else {
        Err(Failure::Told(Code::Problems, open::no_snapshot(&args.name)))
    }
}
