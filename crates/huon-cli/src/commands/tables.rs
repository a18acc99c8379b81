//! Whole tables: `drop`, `rename`.

use huon::{Error, RawTable, WriteTxn};

use crate::args::{Drop, Rename};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::parts;
use crate::table::{self, AnyTable};
use crate::text::Form;

/// Keys of the main table that are deleted at a time.
const KEYS_AT_ONCE: usize = 1000;

/// `huon drop`.
pub(crate) fn drop(args: &Drop) -> Outcome {
    let name = open::name(args.target.table.as_deref())?;
    if name.is_empty() && !args.empty {
        let text = "name a table with --table; the main table can only be emptied, with --empty.";
        return Err(Failure::usage(text));
    }
    parts::refuse(&name)?;
    let env = open::change(&args.target.file, &args.writing, false)?;
    let mut txn = env.write()?;
    match (table::named(&txn, &args.target)?, args.empty) {
        (AnyTable::One(table), true) if name.is_empty() => clear_main(&mut txn, table)?,
        (AnyTable::One(table), true) => table.clear(&mut txn)?,
        (AnyTable::Many(table), true) => table.clear(&mut txn)?,
        (AnyTable::One(table), false) => table.drop_table(&mut txn).map(|_| ())?,
        (AnyTable::Many(table), false) => table.drop_table(&mut txn).map(|_| ())?,
    }
    txn.commit()?;
    Ok(Code::Fine)
}

/// Takes the main table's own records. Those that stand for named tables stay, hidden.
pub(crate) fn clear_main(txn: &mut WriteTxn, main: RawTable) -> Result<(), Failure> {
    if txn.table_names()?.is_empty() {
        return Ok(main.clear(txn)?);
    }
    loop {
        let records = main.iter(&*txn)?.take(KEYS_AT_ONCE);
        let keys: Vec<Vec<u8>> =
            records.map(|record| record.map(|(key, _)| key.to_vec())).collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Ok(());
        }
        for key in keys {
            main.remove(txn, &key)?;
        }
    }
}

/// `huon rename`.
pub(crate) fn rename(args: &Rename) -> Outcome {
    let old = Form::Plain.argument("table name", &args.table)?;
    let new = Form::Plain.argument("table name", &args.name)?;
    if old.is_empty() || new.is_empty() {
        return Err(Failure::usage("the main table has no name, and all others have one."));
    }
    parts::refuse(&old)?;
    parts::refuse(&new)?;
    let env = open::change(&args.file, &args.writing, false)?;
    let mut txn = env.write()?;
    let Some(table) = table::find(&txn, &old)? else {
        return Err(table::absent(&txn, &args.file, &old)?);
    };
    let renamed = match table {
        AnyTable::One(table) => table.rename(&mut txn, &new),
        AnyTable::Many(table) => table.rename(&mut txn, &new),
    };
    renamed.map_err(|error| match error {
        Error::TableExists => {
            let what = match table::find(&txn, &new) {
                Ok(Some(_)) => "table",
                _ => "record",
            };
            let (path, new) = (args.file.display(), Form::Plain.show(&new));
            Failure::usage(format!("{path} has a {what} \"{new}\" already; choose another name."))
        }
        error => error.into(),
    })?;
    txn.commit()?;
    Ok(Code::Fine)
}
