//! Dump and load: what goes out comes in again, and nothing else does.

use huon::{Bytes, Env, MultiDef, NativeU32, NativeU64, Order, RawTable, TableDef, Unit};
use huon_text::{DumpOptions, Error, LoadOptions, LoadReport, dump as dump_to, load as load_from};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::ops::ControlFlow;
use std::time::Duration;

type Def = TableDef<Bytes, Bytes>;

fn open(dir: &tempfile::TempDir, name: &str, page_bytes: usize) -> Env {
    Env::options().page_bytes(page_bytes).open(dir.path().join(name)).unwrap()
}

fn custom() -> Order {
    Order::custom("backwards", |a, b| b.cmp(a))
}

fn defs(own: &Order) -> Vec<Def> {
    vec![
        Def::main(),
        Def::new("empty"),
        Def::named(b"line\nbreak \xFF\0"),
        Def::new("reversed").ordered(Order::Reversed),
        Def::new("u32").ordered(Order::NativeU32),
        Def::new("u64").ordered(Order::NativeU64),
        Def::new("empty u32").ordered(Order::NativeU32),
        Def::new("own").ordered(own.clone()),
        Def::new("typed").type_names("(str, u64)", "json"),
    ]
}

fn multis(own: &Order) -> Vec<MultiDef<Bytes, Bytes>> {
    vec![
        MultiDef::new("many"),
        MultiDef::new("many of eight").values_of_bytes(8).ordered(Order::Reversed),
        MultiDef::new("many of own").ordered(own.clone()).values_ordered(own.clone()),
        MultiDef::new("many u64").values_ordered(Order::NativeU64),
        MultiDef::new("many typed").type_names("uuid", ""),
    ]
}

fn fill(env: &Env, own: &Order) {
    env.update(|txn| {
        for def in multis(own) {
            let table = txn.create_table(&def)?;
            for n in 0..600u64 {
                let key = (n % 7 * n % 5).to_be_bytes();
                table.put(
                    txn,
                    &key[..(n % 9) as usize],
                    &n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes(),
                )?;
            }
        }
        for def in defs(own) {
            let table = txn.create_table(&def)?;
            if def.name().starts_with(b"empty") {
                continue;
            }
            for n in 0..=255u64 {
                let long = n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
                let key = match def.name() {
                    b"u32" => &long[..4],
                    b"u64" => &long[..],
                    _ => &long[..(n % 9) as usize],
                };
                let value: Vec<u8> =
                    (0..n * if n % 16 == 0 { 10 } else { 1 }).map(|i| (n + i) as u8).collect();
                table.put(txn, key, &value)?;
            }
        }
        Ok(())
    })
    .unwrap();
}

fn dump(env: &Env, print: bool) -> Vec<u8> {
    let mut text = Vec::new();
    dump_to(env, &mut text, DumpOptions::new().print(print)).unwrap();
    text
}

fn load(env: &Env, text: &[u8]) -> huon_text::Result<LoadReport> {
    load_from(env, &mut BufReader::with_capacity(17, text), LoadOptions::new())
}

#[test]
fn a_dump_that_is_loaded_dumps_the_same() {
    for page_bytes in [256, 4096] {
        let dir = tempfile::tempdir().unwrap();
        let own = custom();
        let source = open(&dir, "source", page_bytes);
        fill(&source, &own);
        for print in [false, true] {
            let text = dump(&source, print);
            let name = format!("target-{print}");
            let target = open(&dir, &name, page_bytes);
            let load = |text: &[u8]| {
                let options = LoadOptions::new().comparator(own.clone());
                load_from(&target, &mut BufReader::with_capacity(17, text), options)
            };
            let report = load(&text).unwrap();
            assert_eq!(report.tables, 14);
            let typed = target.read().unwrap().table_stat(b"typed").unwrap().unwrap();
            assert_eq!(typed.key_type.as_deref(), Some("(str, u64)"));
            assert!(report.ignored.is_empty(), "{:?}", report.ignored);
            assert!(dump(&target, print) == text);
            let id = target.read().unwrap().id();
            load(&text).unwrap();
            assert!(dump(&target, print) == text);
            assert!(target.check().unwrap().is_clean());
            assert!(target.read().unwrap().id() <= id + 1);
            // A table of its own order dumps from end to end even where that is not known.
            drop(target);
            assert!(dump(&open(&dir, &name, page_bytes), print) == text);
        }
    }
}

#[test]
fn one_table_can_be_chosen_and_renamed() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir, "a", 4096);
    fill(&env, &custom());
    let mut text = Vec::new();
    let report = dump_to(&env, &mut text, DumpOptions::new().table("reversed")).unwrap();
    assert_eq!(report.tables, 1);
    let header = String::from_utf8(text.clone()).unwrap();
    assert!(header.starts_with("VERSION=3\nformat=bytevalue\ndatabase=reversed\ntype=btree\n"));
    assert!(header.contains("\nreversekey=1\n") && !header.contains("dupsort"));
    load_from(&env, &mut &*text, LoadOptions::new().table("again")).unwrap();
    let mut again = Vec::new();
    dump_to(&env, &mut again, DumpOptions::new().table("again")).unwrap();
    assert_eq!(header.replace("=reversed", "=again"), String::from_utf8(again).unwrap());

    let own = dump_to(&env, &mut Vec::new(), DumpOptions::new().table("own")).unwrap();
    let mut text = Vec::new();
    dump_to(&env, &mut text, DumpOptions::new().table("own")).unwrap();
    let error = load_from(&open(&dir, "b", 4096), &mut &*text, LoadOptions::new()).unwrap_err();
    assert!(error.to_string().contains("an order of its own"), "{error}");
    let options = LoadOptions::new().order(Order::Bytes);
    let report = load_from(&open(&dir, "b", 4096), &mut &*text, options).unwrap();
    assert_eq!(report.records, own.records);
    let missing = dump_to(&env, &mut text, DumpOptions::new().table("none"));
    assert!(matches!(missing, Err(Error::Store(huon::Error::TableNotFound))));
}

#[test]
fn the_text_of_other_programs_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir, "a", 4096);
    // LMDB 0.9.24 with integer keys, then libmdbx, with lines of their own.
    let lmdb = "VERSION=3\nformat=bytevalue\ndatabase=ids\ntype=btree\nmapsize=1048576\n\
                maxreaders=126\nintegerkey=1\ndb_pagesize=4096\nHEADER=END\n\
                \x20070000000000000000\n \nDATA=END\n"
        .replace("070000000000000000", "0700000000000000");
    let mdbx = "VERSION=3\r\ngeometry=l1,u2,s3,g4\nmapsize=1\ncanary=v1,x2,y3,z4\nformat=print\n\
                database=people\ntype=btree\ndb_pagesize=4096\nduplicates=0\nnonsense=1\n\
                sequence=7\nHEADER=END\n ada\\20l\\\\\n 36\\00\\0a\nDATA=END\n";
    let report = load(&env, format!("{lmdb}{mdbx}").as_bytes()).unwrap();
    assert_eq!(report.ignored, ["nonsense"]);
    assert_eq!(env.read().unwrap().markers().values, [2, 3, 4]);
    assert_eq!((report.tables, report.records), (2, 2));
    let txn = env.read().unwrap();
    let ids = txn.open_table(&TableDef::<NativeU64, Unit>::new("ids")).unwrap().unwrap();
    assert!(ids.contains(&txn, 7).unwrap());
    let people: RawTable = txn.open_table(&Def::new("people")).unwrap().unwrap();
    assert_eq!(people.get(&txn, b"ada l\\").unwrap(), Some(&b"36\0\n"[..]));
    assert_eq!(people.sequence(&txn).unwrap(), 7);
    drop(txn);

    let narrow = lmdb.replace("0700000000000000", "07000000").replace("=ids", "=narrow");
    load(&env, narrow.as_bytes()).unwrap();
    let txn = env.read().unwrap();
    let narrow = txn.open_table(&TableDef::<NativeU32, Unit>::new("narrow")).unwrap().unwrap();
    assert!(narrow.contains(&txn, 7).unwrap());
}

/// `mdb_dump` writes the name of a table as it is.
#[test]
fn a_name_may_have_several_lines() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir, "a.huon", 4096);
    let name = "of\n\nlines\n";
    let section = |name: &str| {
        let head = format!("VERSION=3\nformat=print\ndatabase={name}\ntype=btree\nHEADER=END\n");
        format!("{head} k\n v\nDATA=END\n")
    };
    load(&env, (section(name) + &section("next")).as_bytes()).unwrap();
    let tables = env.stat().unwrap().tables;
    let names: Vec<_> = tables.iter().map(|table| (&*table.name, table.entries)).collect();
    assert_eq!(names[1..], [(&b"next"[..], 1), (name.as_bytes(), 1)]);
    let endless = section(&"line\n".repeat(100_000));
    let refused = load(&env, endless.as_bytes()).unwrap_err().to_string();
    assert!(refused.contains("name is too long"), "{refused}");
}

#[test]
fn wrong_input_is_refused_with_its_line() {
    let head = "VERSION=3\nformat=bytevalue\ndatabase=t\ntype=btree\nHEADER=END\n";
    let multi = "VERSION=3\ndatabase=m\nduplicates=1\n";
    let long = "00".repeat(3000);
    let cases = [
        (String::new(), 0, "empty"),
        ("VERSION=4\n".into(), 1, "version"),
        ("VERSION=3\nformat=xml\n".into(), 2, "format"),
        ("VERSION=3\ntype=recno\n".into(), 2, "btree"),
        ("VERSION=3\ntype=btree\nkeys=0\n".into(), 3, "without keys"),
        ("VERSION=3\nsequence=many\n".into(), 2, "number"),
        ("VERSION=3\ncanary=v1,x2,y3\n".into(), 2, "four numbers"),
        ("nonsense\n".into(), 1, "word=value"),
        ("VERSION=3\n".into(), 1, "inside a header"),
        ("dupsort=1\nHEADER=END\n 61\n 62\nDATA=END\n".into(), 4, "one value a key"),
        (format!("{multi}HEADER=END\n 61\n {long}\nDATA=END\n"), 6, "longer"),
        (format!("{multi}dupfixed=1\nHEADER=END\n 61\n 62\n 61\n 6263\n"), 9, "one length"),
        (format!("{multi}integerdup=1\nHEADER=END\n 61\n 62\nDATA=END\n"), 7, "4 or 8"),
        (format!("{multi}huon_values=custom\nHEADER=END\n 61\n 62\n"), 7, "of its own"),
        (format!("{}\n", "x".repeat(1 << 20)), 1, "too long"),
        (format!("{head} 61\n 6x\nDATA=END\n"), 7, "hexadecimal"),
        (format!("{head} 61\nDATA=END\n"), 7, "without its value"),
        (format!("{head} 61\n 62\n"), 8, "without DATA=END"),
        (format!("{head} {long}\n 62\nDATA=END\n"), 6, "longer"),
        (format!("{head}61\n 62\nDATA=END\n"), 6, "begins with a space"),
        ("reversekey=1\nHEADER=END\n 61\n 62\nDATA=END\n".into(), 4, "main table"),
        ("integerkey=1\ndatabase=i\nHEADER=END\n 61\n 62\nDATA=END\n".into(), 5, "4 or 8"),
    ];
    for (text, line, what) in cases {
        let dir = tempfile::tempdir().unwrap();
        let env = open(&dir, "a", 4096);
        match load(&env, text.as_bytes()) {
            Err(Error::Input(error)) => {
                assert!(error.what.contains(what), "{error:?}, not {what:?}");
                assert_eq!(error.line, line, "{error:?}");
            }
            other => panic!("{what}: {other:?}"),
        }
        assert!(env.check().unwrap().is_clean());
    }
}

#[test]
fn what_comes_before_a_wrong_line_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir, "a", 4096);
    let text = "database=t\nHEADER=END\n 61\n 62\n 63\n 6\n 64\n 65\nDATA=END\n";
    assert!(matches!(load(&env, text.as_bytes()), Err(Error::Input(_))));
    let txn = env.read().unwrap();
    let table: RawTable = txn.open_table(&Def::new("t")).unwrap().unwrap();
    assert_eq!(table.get(&txn, b"a").unwrap(), Some(&b"b"[..]));
    assert_eq!(table.len(&txn).unwrap(), 1);
    drop(txn);
    // A table that exists keeps its order, and its values if they are to be kept.
    let text = "database=t\nreversekey=1\nHEADER=END\n 61\n 7a\n 7a\n 7a\nDATA=END\n";
    load_from(&env, &mut text.as_bytes(), LoadOptions::new().keep_existing(true)).unwrap();
    let txn = env.read().unwrap();
    assert_eq!(table.get(&txn, b"a").unwrap(), Some(&b"b"[..]));
    assert_eq!(table.get(&txn, b"z").unwrap(), Some(&b"z"[..]));
}

#[test]
fn a_load_that_is_stopped_keeps_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir, "a", 4096);
    let mut text = "database=t\nHEADER=END\n".to_string();
    for n in 0..100_000u32 {
        text.push_str(&format!(" {n:08x}\n {}\n", "ab".repeat(40)));
    }
    text.push_str("DATA=END\n");
    let mut calls = 0;
    let mut stop = |_: &huon::Progress| {
        calls += 1;
        if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = LoadOptions::new().progress(&mut stop);
    let report = load_from(&env, &mut text.as_bytes(), options).unwrap();
    assert!(report.stopped && report.records > 0 && report.records < 100_000);
    let txn = env.read().unwrap();
    let table: RawTable = txn.open_table(&Def::new("t")).unwrap().unwrap();
    assert_eq!(table.len(&txn).unwrap(), report.records);
    drop(txn);
    assert_eq!(load(&env, text.as_bytes()).unwrap().records, 100_000);
    assert!(env.check().unwrap().is_clean());
}

/// Text that comes with pauses, and looks after each of them at what the load did meanwhile.
struct Halting<'t> {
    env: Env,
    text: &'t [u8],
    read: usize,
    /// The next halts, nearest last.
    halts: Vec<usize>,
    halted: usize,
    is_back: bool,
    /// Bytes at whose end a record is whole.
    record_ends: &'t [usize],
}

impl<'t> Halting<'t> {
    fn new(env: &Env, text: &'t [u8], record_ends: &'t [usize], halts: Vec<usize>) -> Self {
        Halting { env: env.clone(), text, read: 0, halts, halted: 0, is_back: false, record_ends }
    }

    /// All that was read before the halt is committed, and the writer lock is free.
    fn look(&self) {
        let records: u64 = {
            let txn = self.env.read().unwrap();
            let names = txn.table_names().unwrap().into_iter().map(Def::named);
            let tables =
                names.map(|def| txn.open_table(&def.ordered(Order::Stored)).unwrap().unwrap());
            tables.map(|table| table.len(&txn).unwrap()).sum()
        };
        let whole = self.record_ends.iter().filter(|end| **end <= self.read).count();
        assert_eq!(records, whole as u64, "at byte {}", self.read);
        self.env.write_within(Duration::ZERO).unwrap().abort();
    }
}

impl Read for Halting<'_> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        unreachable!("a load asks with fill_buf")
    }
}

impl BufRead for Halting<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.halts.pop_if(|halt| *halt == self.read).is_some() {
            self.halted += 1;
            self.is_back = true;
            return Err([ErrorKind::TimedOut, ErrorKind::WouldBlock][self.halted % 2].into());
        }
        if std::mem::take(&mut self.is_back) {
            self.look();
        }
        let until = self.halts.last().copied().unwrap_or(self.text.len());
        Ok(&self.text[self.read..until])
    }

    fn consume(&mut self, bytes: usize) {
        self.read += bytes;
    }
}

#[test]
fn input_that_stalls_anywhere_loses_and_doubles_nothing() {
    let sections = [
        "format=bytevalue\ndatabase=hex\nHEADER=END\n",
        " 6162\n 63\n",
        " 64\n \n",
        "DATA=END\n\nformat=print\ndatabase=print\nHEADER=END\n",
        " b\\61c\r\n \\00d\r\n",
        " a\n e\n",
        "DATA=END\n",
    ];
    let (mut text, mut record_ends) = (String::new(), Vec::new());
    for part in sections {
        text.push_str(part);
        if part.starts_with(' ') {
            record_ends.push(text.len());
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let plain = open(&dir, "plain", 4096);
    let wanted = load(&plain, text.as_bytes()).unwrap();
    let everywhere = (0..=text.len()).rev().collect();
    let mut schedules: Vec<Vec<usize>> = vec![everywhere];
    schedules.extend((0..=text.len()).map(|at| vec![at, at]));
    for (i, halts) in schedules.into_iter().enumerate() {
        let env = open(&dir, &format!("{i}"), 4096);
        let mut input = Halting::new(&env, text.as_bytes(), &record_ends, halts.clone());
        let report = load_from(&env, &mut input, LoadOptions::new()).unwrap();
        assert_eq!((input.halted, input.read), (halts.len(), text.len()), "{halts:?}");
        let read = |report: &LoadReport| (report.tables, report.records, report.lines);
        assert_eq!(read(&report), read(&wanted), "{halts:?}");
        assert!(dump(&env, false) == dump(&plain, false), "halts at {halts:?}");
    }
}

#[test]
fn random_text_never_panics() {
    let words = [
        "VERSION=3\n",
        "HEADER=END\n",
        "DATA=END\n",
        " 61\n",
        " \n",
        " 6",
        "database=t\n",
        "\n",
        "\\",
        "=",
        "\r\n",
        "format=print\n",
        " \\zz\n",
        "huon_order=custom\n",
        "integerkey=1\n",
        "huon_name=00ff\n",
        "huon_name=0\n",
        "\0\u{ff}",
        " 0011223344556677\n",
    ];
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir, "a", 256);
    let mut state = 1u64;
    for _ in 0..300 {
        let mut text = String::new();
        for _ in 0..20 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push_str(words[(state >> 33) as usize % words.len()]);
        }
        // Whatever it says of the text, the environment stays whole.
        let _ = load(&env, text.as_bytes());
    }
    assert!(env.check().unwrap().is_clean());
}
