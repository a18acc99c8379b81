//! Arguments of the commands for records.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use huon::{Bytes, MultiDef, Order, TableDef};

use super::{AtSnapshot, Target, Writing};
use crate::types::Type;

/// What keys and values are.
#[derive(ClapArgs, Debug, Default)]
pub(crate) struct TypeArgs {
    /// What keys are: text, hex, json, bool, uuid, u8 to u128, i8 to i128, f32, f64, native-u32,
    /// native-u64, `[u8; 32]`, `option<u64>`, or several for the parts of a key, as text,u64
    /// [default: as the table says, else text]
    #[arg(long = "key", value_name = "TYPE", value_parser = Type::of_argument)]
    pub(crate) key_type: Option<Type>,
    /// What values are, in the same words
    #[arg(long = "value", value_name = "TYPE", value_parser = Type::of_argument)]
    pub(crate) value_type: Option<Type>,
    /// Keys and values as hex digits
    #[arg(long, conflicts_with_all = ["key_type", "value_type"])]
    pub(crate) hex: bool,
}

impl TypeArgs {
    /// The names of the engine's codecs of keys and values; empty where nothing is said.
    fn codec_names(&self) -> [String; 2] {
        [&self.key_type, &self.value_type]
            .map(|kind| kind.as_ref().map(Type::codec_name).unwrap_or_default())
    }
}

/// How records are written, or read.
#[derive(ClapArgs, Debug)]
pub(crate) struct FormatArgs {
    /// A JSON object a record, with `key` and `value`
    #[arg(long)]
    pub(crate) json: bool,
    /// CSV with the columns `key` and `value`
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// How records are written, or read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// A line a record: key, tab, value.
    Lines,
    Json,
    Csv,
}

impl FormatArgs {
    pub(crate) fn format(&self) -> Format {
        match (self.json, self.csv) {
            (true, _) => Format::Json,
            (_, true) => Format::Csv,
            _ => Format::Lines,
        }
    }
}

/// Some of the keys of a table.
#[derive(ClapArgs, Debug)]
pub(crate) struct PartArgs {
    /// Only keys that begin so; of keys of several parts, those with these leading ones
    #[arg(long, value_name = "KEY", conflicts_with_all = ["from", "to"])]
    pub(crate) prefix: Option<OsString>,
    /// Only keys from this one on
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub(crate) from: Option<OsString>,
    /// Only keys before this one
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub(crate) to: Option<OsString>,
}

pub(super) const GET_HELP: &str = "\
Ends with 1 if a key is not there.

Examples:
  huon get data.huon apple
  huon get data.huon picture.png --raw > picture.png
  huon get data.huon --table tags sweet --first
  huon get data.huon --table users --hex 0001ff
  huon get data.huon --table visits --key u64 17
  cut -f1 names.txt | huon get data.huon -";

#[derive(ClapArgs, Debug)]
pub(crate) struct Get {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The key; `-` reads keys from standard input, one a line
    #[arg(allow_negative_numbers = true)]
    pub(crate) key: OsString,
    #[command(flatten)]
    pub(crate) at: AtSnapshot,
    #[command(flatten)]
    pub(crate) types: TypeArgs,
    /// Print the value's bytes as they are, and nothing else
    #[arg(long, conflicts_with_all = ["hex", "value_type", "json", "csv"])]
    pub(crate) raw: bool,
    /// Only the first value of the key
    #[arg(long, conflicts_with = "last")]
    pub(crate) first: bool,
    /// Only the last value of the key
    #[arg(long)]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const PUT_HELP: &str = "\
The file and the table are made if they do not exist. All records of one call
are committed together, durably. In a multimap, which --multi makes, a value is
added to those of its key; one that is there already is not added again.
Native orders are those of little-endian integers of 4 or 8 bytes. A new table
keeps the types that --key and --value name: it is shown by them afterwards, and
programs open it by them.

Examples:
  huon put data.huon apple red
  huon put data.huon --table pictures picture.png - < picture.png
  huon put data.huon --hex 0001ff 00
  huon put data.huon --table tags --multi sweet cherry
  huon ls old.huon | huon put data.huon -
  huon put data.huon --table visits --key u64 --value json 17 '{\"ok\": true}'
  huon put data.huon --csv - < data.csv
  huon ls old.huon --json | jq -c 'select(.key < \"b\")' | huon put data.huon - --json";

#[derive(ClapArgs, Debug)]
pub(crate) struct Put {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The key; `-` reads records from standard input, a line each: key, tab, value
    #[arg(allow_negative_numbers = true)]
    pub(crate) key: OsString,
    /// The value; `-` takes the bytes of standard input as they are
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: Option<OsString>,
    #[command(flatten)]
    pub(crate) types: TypeArgs,
    /// Only if the key is not there yet; ends with 1 if it is
    #[arg(long)]
    pub(crate) new: bool,
    /// In a multimap, the key has this value and no other afterwards
    #[arg(long, conflicts_with = "new")]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) make: Make,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// What a table is to be like if it is made; one that exists must be like that.
#[derive(ClapArgs, Debug)]
pub(crate) struct Make {
    /// Make the table a multimap: a key may have many values
    #[arg(long)]
    pub(crate) multi: bool,
    /// Order of keys of a new table [default: bytes]
    #[arg(long, value_name = "ORDER", value_enum)]
    pub(crate) order: Option<OrderName>,
    /// Order of the values of a key in a new multimap [default: bytes]
    #[arg(long, value_name = "ORDER", value_enum)]
    pub(crate) value_order: Option<OrderName>,
    /// Length of each value of a new multimap; 0 takes that of the first
    #[arg(long, value_name = "BYTES")]
    pub(crate) value_bytes: Option<u32>,
}

/// Orders that need no function of a program: as byte strings, as these from the last byte to the
/// first, as little-endian integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OrderName {
    Bytes,
    Reversed,
    #[value(name = "native-u32")]
    NativeU32,
    #[value(name = "native-u64")]
    NativeU64,
}

impl OrderName {
    /// The order of that name, else that which items of the type have in tables of their own.
    fn order(name: Option<OrderName>, kind: Option<&Type>) -> Order {
        match name {
            None => kind.and_then(Type::order).unwrap_or(Order::Stored),
            Some(OrderName::Bytes) => Order::Bytes,
            Some(OrderName::Reversed) => Order::Reversed,
            Some(OrderName::NativeU32) => Order::NativeU32,
            Some(OrderName::NativeU64) => Order::NativeU64,
        }
    }
}

impl Make {
    pub(crate) fn is_multi(&self) -> bool {
        self.multi || self.value_order.is_some() || self.value_bytes.is_some()
    }

    /// How long the values of a new multimap are, if their order says so.
    pub(crate) fn native_bytes(&self) -> Option<u32> {
        match self.value_order? {
            OrderName::NativeU32 => Some(4),
            OrderName::NativeU64 => Some(8),
            OrderName::Bytes | OrderName::Reversed => None,
        }
    }

    pub(crate) fn has_wishes(&self) -> bool {
        self.is_multi() || self.order.is_some()
    }

    /// The table, with what `types` name stored as its types: so programs open it by these, and
    /// this command shows it by them.
    pub(crate) fn table(&self, name: &[u8], types: &TypeArgs) -> TableDef<Bytes, Bytes> {
        let [key, value] = types.codec_names();
        let order = OrderName::order(self.order, types.key_type.as_ref());
        TableDef::named(name).ordered(order).type_names(&key, &value)
    }

    /// The same for a multimap.
    pub(crate) fn multi(&self, name: &[u8], types: &TypeArgs) -> MultiDef<Bytes, Bytes> {
        let [key, value] = types.codec_names();
        let (keys, values) = (types.key_type.as_ref(), types.value_type.as_ref());
        let def = MultiDef::named(name).ordered(OrderName::order(self.order, keys));
        let def = def.values_ordered(OrderName::order(self.value_order, values));
        let def = def.type_names(&key, &value);
        let length = values.and_then(Type::length).and_then(|bytes| u32::try_from(bytes).ok());
        match self.value_bytes.or(length) {
            None => def,
            Some(bytes) => def.values_of_bytes(bytes),
        }
    }
}

pub(super) const DEL_HELP: &str = "\
Ends with 1 if a key is not there, or does not have the value.

Examples:
  huon del data.huon apple
  huon del data.huon --table tags sweet cherry
  huon ls data.huon --prefix tmp/ --keys | huon del data.huon -
  huon ls data.huon --json | jq -c 'select(.value == \"\")' | huon del data.huon - --json";

#[derive(ClapArgs, Debug)]
pub(crate) struct Del {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The key; `-` reads standard input, a line each: key, or key, tab, value
    #[arg(allow_negative_numbers = true)]
    pub(crate) key: OsString,
    /// Only this value of the key, and only if it has it
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: Option<OsString>,
    #[command(flatten)]
    pub(crate) types: TypeArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

pub(super) const LS_HELP: &str = "\
Examples:
  huon ls data.huon
  huon ls data.huon --table users --prefix a --limit 10
  huon ls data.huon --from 2024 --to 2025
  huon ls data.huon --reverse --limit 1
  huon ls data.huon --table visits --key u64 --from 1700000000
  huon ls data.huon --table marks --key text,u64 --prefix '[\"ann\"]'
  huon ls data.huon --json | jq -r .key
  huon ls data.huon --csv > data.csv";

#[derive(ClapArgs, Debug)]
pub(crate) struct Ls {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// From the last key to the first
    #[arg(short, long)]
    pub(crate) reverse: bool,
    /// At most so many records
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Keys only, each once
    #[arg(short, long)]
    pub(crate) keys: bool,
    #[command(flatten)]
    pub(crate) at: AtSnapshot,
    #[command(flatten)]
    pub(crate) types: TypeArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const COUNT_HELP: &str = "\
Examples:
  huon count data.huon
  huon count data.huon --table tags
  huon count data.huon --table tags sweet
  huon count data.huon --from 2024 --to 2025
  huon count data.huon --table users --prefix a";

#[derive(ClapArgs, Debug)]
pub(crate) struct Count {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Count the values of this key
    #[arg(allow_negative_numbers = true, conflicts_with_all = ["prefix", "from", "to"])]
    pub(crate) key: Option<OsString>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) at: AtSnapshot,
    #[command(flatten)]
    pub(crate) types: TypeArgs,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) const DIFF_HELP: &str = "\
Of each record that only one of the two has, or has otherwise, a line is shown:
`-` for the first file, `+` for the other. Ends with 0 if there is no
difference, with 1 if there is one. Tables in the order of a program's own
cannot be compared.

Examples:
  huon diff before.huon after.huon
  huon diff before.huon after.huon --table users --quiet && echo the same
  huon diff data.huon data.huon --table users --with people
  huon diff data.huon --since before-the-import
  huon diff before.huon after.huon --json | jq .key";

#[derive(ClapArgs, Debug)]
pub(crate) struct Diff {
    /// The first environment
    pub(crate) file: PathBuf,
    /// The other one
    pub(crate) other: Option<PathBuf>,
    /// Only this table; the empty name is the main table [default: all tables]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: Option<OsString>,
    /// The table of the other one to compare it with [default: that of the same name]
    #[arg(long, value_name = "NAME", requires = "table")]
    pub(crate) with: Option<OsString>,
    /// What changed in the file since the snapshot of this name: it costs what changed
    #[arg(long, value_name = "NAME", conflicts_with_all = ["other", "with"])]
    pub(crate) since: Option<String>,
    /// Print nothing; the exit code says it
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) types: TypeArgs,
    /// A JSON object a difference, with `table`, `key`, and `old` and `new` values
    #[arg(long)]
    pub(crate) json: bool,
}
