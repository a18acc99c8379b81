//! The cases: those that are written out, those that take loops, and random histories.

use super::random;
use super::step::Step;
use super::{expected, text};

/// A case, and its steps as lines.
struct Case {
    name: String,
    lines: Vec<String>,
}

impl Case {
    fn new(name: &str) -> Case {
        Case { name: name.to_owned(), lines: Vec::new() }
    }

    fn add(mut self, lines: &str) -> Case {
        let lines = lines.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty());
        self.lines.extend(lines.map(str::to_owned));
        self
    }

    /// Puts records in calls of a hundred.
    fn put(mut self, txn_and_table: &str, records: impl IntoIterator<Item = String>) -> Case {
        let records: Vec<String> = records.into_iter().collect();
        let call = |some: &[String]| format!("put_many {txn_and_table} {}", some.join(" "));
        self.lines.extend(records.chunks(100).map(call));
        self
    }

    fn expected(self) -> (String, Vec<Step>) {
        let steps = self.lines.iter().map(|line| text::step(line));
        (self.name, expected(steps))
    }
}

/// All cases of the file, with what each step must answer.
pub(super) fn all() -> Vec<(String, Vec<Step>)> {
    let written = written(include_str!("cases.txt"));
    let mut all: Vec<_> = written.into_iter().chain(looped()).map(Case::expected).collect();
    for seed in 1..=12 {
        all.push((format!("a random history, {seed}"), random::history(seed, 300)));
    }
    all
}

/// The case that programs of several languages do in turns.
pub(super) fn exchange() -> (String, Vec<Step>) {
    written(include_str!("exchange.txt")).remove(0).expected()
}

fn written(text: &str) -> Vec<Case> {
    let cases = text.split("# ").filter(|case| !case.trim().is_empty());
    let case = |text: &str| {
        let (name, lines) = text.split_once('\n').expect("lines");
        Case::new(name).add(lines)
    };
    cases.map(case).collect()
}

/// Records `000` to `699`, seven batches and more of any scan.
fn numbers(value: &str) -> impl Iterator<Item = String> + use<'_> {
    (0..700).map(move |n| format!("{n:03}={value}{n}"))
}

fn looped() -> Vec<Case> {
    [names(), scans(), changes(), multimaps(), pairs()].into_iter().flatten().collect()
}

fn names() -> Vec<Case> {
    let names = ["a", "z", "\u{7f}", "\u{e4}", "\u{4e2d}\u{6587}", "\u{ff5e}", "\u{1f600}", "\0"];
    let mut strange = Case::new("names of tables are in the order of their bytes").add("write w");
    for (n, name) in names.iter().enumerate() {
        strange = strange.add(&format!("create w {name}; put w {name} k {n}"));
    }
    strange = strange.add("tables w; commit w; reopen; read r; tables r");
    for name in names {
        strange = strange.add(&format!("has_table r {name}; get r {name} k"));
    }
    let long = "n".repeat(500);
    vec![
        strange.add("has_table r \u{e5}; get r \u{e5} k; abort r"),
        Case::new("a long name of a table").add(&format!(
            "write w; create w {long}; put w {long} a 1; tables w; has_table w {long}n; commit w
             reopen; read r; tables r; get r {long} a; abort r"
        )),
        (0..20)
            .fold(Case::new("twenty tables").add("write w"), |case, n| {
                case.add(&format!("create w t{n}; put w t{n} k {n}"))
            })
            .add("tables w; commit w; write w; drop w t7; clear w t8; tables w; commit w; reopen")
            .add("read r; tables r; get r t6 k; get r t7 k; get r t8 k; get r t19 k; abort r"),
    ]
}

fn scans() -> Vec<Case> {
    let long = |n: usize| format!("{n:03}={}*{}", ["x", "yz", "0x00"][n % 3], 700 + 13 * n);
    vec![
        Case::new("scans of many records")
            .add("write w; create w t")
            .put("w t", numbers("v"))
            .add("count w t; commit w; read r; count r t; scan r t; scan r t reverse")
            .add("scan r t from=010 to=300; scan r t from=010 to=300 reverse; scan r t prefix=3")
            .add("scan r t limit=256; scan r t limit=257; scan r t from=1 limit=300")
            .add("scan r t reverse limit=65; first r t; last r t; abort r"),
        Case::new("scans of many records that are not committed")
            .add("write w; create w t")
            .put("w t", numbers("v"))
            .add("scan w t from=100 to=500; put w t 2505 new; delete w t 300; delete w t 301")
            .add("scan w t from=240 to=310; scan w t from=240 to=310 reverse; count w t; abort w"),
        Case::new("scans of large values")
            .add("write w; create w t")
            .put("w t", (0..90).map(long))
            .add("scan w t; commit w; read r; scan r t; scan r t reverse; scan r t from=05 to=07")
            .add("abort r; write w; scan_put w t small; scan w t limit=3; commit w")
            .add("read r; scan r t; abort r"),
        Case::new("keys with long common beginnings")
            .add("write w; create w t")
            .put("w t", (0..90).map(|n| format!("{}{n:03}={n}", "p".repeat(100))))
            .add("get w t pppp")
            .add(&format!("get w t {}050", "p".repeat(100)))
            .add(&format!("scan w t from={0}050 to={0}055", "p".repeat(100)))
            .add(&format!("scan w t prefix={}07", "p".repeat(100)))
            .add("count w t; commit w"),
        Case::new("get_many of many")
            .add("write w; create w t")
            .put("w t", numbers("v"))
            .add(&format!(
                "get_many w t {}",
                (0..400).map(|n| format!("{:04}", n * 7 % 1000)).collect::<Vec<_>>().join(" ")
            ))
            .add(&format!(
                "get_many w t {}",
                (0..300).map(|n| format!("{:03}", n * 37 % 800)).collect::<Vec<_>>().join(" ")
            ))
            .add("commit w"),
        Case::new("a scan of a snapshot while others write")
            .add("write w; create w t")
            .put("w t", numbers("v"))
            .add("commit w; read r; write w; scan_put w t changed limit=300")
            .add("delete_range w t from=5; commit w; scan r t from=290 to=310")
            .add("scan r t from=495 to=505; count r t; read s")
            .add("scan s t from=290 to=310; scan s t from=495; count s t; abort r; abort s"),
    ]
}

fn changes() -> Vec<Case> {
    let all = || Case::new("").add("write w; create w t").put("w t", numbers("v"));
    let named = |name: &str, case: Case| Case { name: name.to_owned(), ..case };
    vec![
        named(
            "deletes in a scan of many records",
            all()
                .add("scan_delete w t from=100 to=450; count w t; scan w t from=095 to=455")
                .add("scan_delete w t reverse limit=200; count w t; last w t")
                .add("scan_delete w t; count w t; scan w t; put w t a 1; scan w t; commit w"),
        ),
        named(
            "deletes in a scan of many records, later",
            all()
                .add("commit w; write w; scan_delete w t; count w t; first w t; commit w")
                .add("read r; scan r t; count r t; abort r"),
        ),
        named(
            "deletes in a scan backwards",
            all()
                .add(
                    "commit w; write w; scan_delete w t reverse from=050 to=640; scan w t; abort w",
                )
                .add("read r; count r t; abort r"),
        ),
        named(
            "puts in a scan of many records",
            all()
                .add("scan_put w t longer-than-before from=100 to=500; scan w t from=095 to=105")
                .add("scan w t from=495 to=505; count w t; scan_put w t x*3000 from=2 to=22")
                .add("scan w t from=199 to=203; count w t; scan_put w t '' reverse; count w t")
                .add("scan w t limit=5; commit w; read r; scan r t reverse limit=5; abort r"),
        ),
        named(
            "a delete_range of many records",
            all()
                .add("commit w; write w; delete_range w t from=050 to=650; scan w t; commit w")
                .add("write w; put_many w t 300=1 301=2; delete_range w t to=3; scan w t limit=4")
                .add("commit w; read r; count r t; scan r t limit=10; abort r"),
        ),
        named(
            "many records in an aborted nested transaction",
            all()
                .add("begin_nested n w; scan_delete n t from=1 to=6; count n t; clear n t; abort n")
                .add("count w t; begin_nested n w; delete_range n t from=1; commit n; count w t")
                .add("commit w; read r; count r t; last r t; abort r"),
        ),
        (0..300)
            .fold(
                Case::new("many small transactions").add("write w; create w t; commit w"),
                |c, n| {
                    let line = match n % 3 {
                        0 => format!("put w t {:03} {n}", n * 7 % 100),
                        1 => format!("put w t {:03} {n}", n * 11 % 100),
                        _ => format!("delete w t {:03}", n * 13 % 100),
                    };
                    c.add(&format!(
                        "write w; {line}; {} w",
                        if n % 7 == 6 { "abort" } else { "commit" }
                    ))
                },
            )
            .add("read r; scan r t; abort r; reopen; read r; count r t; abort r"),
    ]
}

fn multimaps() -> Vec<Case> {
    let many = (0..400)
        .fold(Case::new("many values of one key").add("write w; create w m multi"), |c, n| {
            c.add(&format!("multi_put w m k {:03}", n * 7 % 400))
        });
    let keys = (0..400)
        .fold(Case::new("many keys with values").add("write w; create w m multi"), |c, n| {
            c.add(&format!("multi_put w m {:03} {}", n * 7 % 150, n % 5))
        });
    vec![
        many.add("multi_put w m a 1; multi_put w m z 1; count w m; multi_values w m k; commit w")
            .add("read r; multi_values r m k; multi_values r m k reverse; multi_scan r m limit=300")
            .add("multi_scan r m reverse limit=300; abort r; write w; multi_delete w m k 300")
            .add("multi_delete w m k 300; count w m; multi_put w m k 3005; multi_values w m k")
            .add("multi_delete_all w m k; multi_scan w m; commit w; reopen; read r")
            .add("multi_scan r m; abort r"),
        keys.add("count w m; multi_scan w m; commit w; read r; multi_scan r m reverse")
            .add("multi_scan r m from=05 to=10; multi_scan r m from=05 to=10 reverse")
            .add("multi_scan r m prefix=1 limit=70; multi_values r m 007; multi_values r m 0075")
            .add("abort r; write w; multi_delete_all w m 007; multi_values w m 007")
            .add("multi_scan w m from=006 to=009; clear w m; count w m; commit w"),
        (0..40)
            .fold(Case::new("long values of one key").add("write w; create w m multi"), |c, n| {
                c.add(&format!("multi_put w m k {:02}*{}", n * 7 % 40, 20 + 10 * n))
            })
            .add("multi_values w m k; multi_values w m k reverse; count w m; commit w; reopen")
            .add("read r; multi_values r m k; abort r"),
    ]
}

/// Keys with one value, with some and with many; and keys that lose them.
fn pairs() -> Vec<Case> {
    let counts = [1, 2, 7, 60, 260];
    let of_keys = |name: &str| {
        let pairs = (0..10).flat_map(|key| (0..counts[key % 5]).map(move |value| (key, value)));
        pairs.fold(Case::new(name).add("write w; create w m multi"), |case, (key, value)| {
            case.add(&format!("multi_put w m {key:02} {:03}", value * 11 % counts[key % 5]))
        })
    };
    let lost = (0..300).fold(
        Case::new("a key loses one value after another").add("write w; create w m multi"),
        |case, n| case.add(&format!("multi_put w m k {:03}", n * 7 % 300)),
    );
    let lost = lost.add("multi_put w m a 1; multi_put w m z 1; commit w; write w");
    let lost = (0..300).fold(lost, |case, n| {
        let case = case.add(&format!("multi_delete w m k {:03}", n * 11 % 300));
        if n % 37 == 36 || n > 297 {
            return case
                .add("count w m; multi_scan w m from=k limit=2; multi_scan w m reverse limit=3")
                .add("multi_scan w m to=z reverse limit=2; multi_scan w m limit=3");
        }
        case
    });
    vec![
        of_keys("keys with one value, some and many")
            .add("count w m; multi_scan w m from=03 to=05 limit=70; commit w; reopen; read r")
            .add("multi_scan r m from=03 limit=63; multi_scan r m from=04 to=05 reverse limit=3")
            .add("multi_scan r m to=05 reverse limit=265; multi_scan r m to=04 reverse limit=65")
            .add("multi_scan r m reverse limit=262; multi_values r m 07 reverse")
            .add("multi_values r m 05; multi_scan r m prefix=0 limit=12")
            .add("multi_scan r m prefix=0 reverse limit=2; count r m; abort r"),
        of_keys("all values of keys with one, some and many are deleted")
            .add("commit w; read r; write w; multi_delete_all w m 04; multi_delete_all w m 04")
            .add("multi_scan w m to=05 reverse limit=62; multi_scan w m from=03 limit=62")
            .add("count w m; multi_delete_all w m 00; multi_delete_all w m 01")
            .add("multi_delete_all w m 09; multi_scan w m limit=9; count w m")
            .add("multi_scan w m reverse limit=62")
            .add("begin_nested n w; multi_delete_all n m 03; multi_delete_all n m 08; count n m")
            .add("multi_scan n m from=02 to=09 reverse limit=9; abort n; count w m")
            .add("multi_put w m 04 4; multi_scan w m to=05 reverse limit=3; commit w")
            .add("multi_scan r m reverse limit=3; multi_scan r m from=04 limit=2")
            .add("multi_delete_all r m 03; count r m; abort r; read r; count r m")
            .add("multi_scan r m reverse limit=70; multi_values r m 04; abort r"),
        lost.add("multi_values w m k; multi_put w m k 5; multi_values w m k reverse; commit w")
            .add("read r; multi_scan r m; multi_scan r m reverse; abort r"),
    ]
}
