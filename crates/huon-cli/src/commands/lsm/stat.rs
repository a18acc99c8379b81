//! What LSM tables consist of: `lsm stat`.

use huon_lsm::{ClassStat, Lsm};
use serde_json::{Value, json};

use super::tables;
use crate::args::LsmStat;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::text::{Form, json_name, many, number, size};

/// `huon lsm stat`.
pub(super) fn stat(args: &LsmStat) -> Outcome {
    let file = &args.target.file;
    let env = open::look(file)?;
    let (lsm, txn) = (Lsm::open(&env)?, env.read()?);
    let mut found = Vec::new();
    for (name, table) in tables(&lsm, &txn, file, args.target.table.as_deref())? {
        found.push((name, table.stat(&txn)?));
    }
    let mut out = Out::new();
    if args.json {
        let tables: Vec<Value> = found.iter().map(|(name, stat)| as_json(name, stat)).collect();
        out.json(&json!({ "snapshot": txn.id(), "tables": tables }))?;
    } else if found.is_empty() {
        out.line("no LSM tables")?;
    }
    for (at, (name, stat)) in found.iter().enumerate().filter(|_| !args.json) {
        if at > 0 {
            out.line("")?;
        }
        print(&mut out, name, stat)?;
    }
    out.finish()?;
    Ok(Code::Fine)
}

fn as_json(name: &[u8], stat: &huon_lsm::LsmStat) -> Value {
    let (field, name) = json_name("name", name, Form::Plain);
    let class = |class: &ClassStat| {
        json!({
            "class": class.class,
            "runs": class.runs,
            "records": class.records,
            "bytes": class.bytes,
        })
    };
    let named = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
    json!({
        (field): name,
        "key_type": named(&stat.types.0),
        "value_type": named(&stat.types.1),
        "merge_operator": named(&stat.operator),
        "fan": stat.fan,
        "runs": stat.runs(),
        "classes": stat.classes.iter().map(class).collect::<Vec<_>>(),
        "open_run_records": stat.has_open_run.then_some(stat.open_records),
        "records": stat.records,
        "tombstones": stat.tombstones,
        "range_deletes": stat.range_deletes,
        "bytes": stat.bytes,
        "filter_bits": stat.filter_bits,
        "filter_bytes": stat.filter_bytes,
        "debt_bytes": stat.debt_bytes,
        "merging_bytes": stat.merging_bytes,
        "put_bytes": stat.total_put_bytes,
        "merged_bytes": stat.total_merged_bytes,
        "write_amplification": stat.total_write_amplification(),
    })
}

fn print(out: &mut Out, name: &[u8], stat: &huon_lsm::LsmStat) -> Result<(), Failure> {
    let name = Form::Plain.show(name);
    out.line(format_args!("LSM table \"{name}\": {}", many(stat.runs(), "run")))?;
    let mut row = |what: &str, runs: u64, records: u64, bytes: Option<u64>| {
        let bytes = bytes.map_or("-".into(), size);
        out.line(format_args!("{what:<18} {runs:>6} {:>14} {bytes:>12}", number(records)))
    };
    if stat.has_open_run {
        row("open run", 1, stat.open_records, None)?;
    }
    for ClassStat { class, runs, records, bytes, .. } in &stat.classes {
        row(&format!("class {class}"), *runs, *records, Some(*bytes))?;
    }
    row("all", stat.runs(), stat.records, Some(stat.bytes))?;
    out.field("tombstones", number(stat.tombstones))?;
    if stat.range_deletes > 0 {
        out.field("range deletes", number(stat.range_deletes))?;
    }
    let filters = match stat.filter_bits {
        0 => "none".into(),
        bits => format!("{}, {bits} bits a key", size(stat.filter_bytes)),
    };
    out.field("filters", filters)?;
    let debt = match (stat.debt_bytes, stat.merging_bytes) {
        (0, _) => "nothing to merge".into(),
        (debt, 0) => format!("{} to merge", size(debt)),
        (debt, begun) => {
            format!("{} to merge, {} of it in merges that have begun", size(debt), size(begun))
        }
    };
    out.field("debt", debt)?;
    if let Some(times) = stat.total_write_amplification() {
        let (put, merged) = (size(stat.total_put_bytes), size(stat.total_merged_bytes));
        let text = format!("{put} by commits, {merged} by merges: each byte {times:.1} times");
        out.field("written", text)?;
    }
    if !stat.operator.is_empty() {
        out.field("merged by", Form::Plain.show(stat.operator.as_bytes()))?;
    }
    let (key, value) = &stat.types;
    if !key.is_empty() || !value.is_empty() {
        let shown = |name: &String| match name.as_str() {
            "" => "bytes".into(),
            name => Form::Plain.show(name.as_bytes()),
        };
        out.field("types", format_args!("{} -> {}", shown(key), shown(value)))?;
    }
    Ok(())
}
