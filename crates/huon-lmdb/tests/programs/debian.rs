//! Programs that Debian links to LMDB run with our library.
//!
//! 1. What they say is what the same program says with Debian's LMDB, 0.9.24.
//! 2. The files that they leave behind are Huon's, which no other library would have made, and a
//!    check finds nothing in them.
//! 3. A program that is not there is skipped by name. Nothing has to be installed: they are looked
//!    for in `PATH` and where Debian has them, or below `HUON_DEBIAN_ROOT`, where packages (with
//!    the libraries that they need) were unpacked by `dpkg -x`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::library::LIBRARY;
use huon::{Bytes, TableDef};
use huon_testkit::c_library::programs::{Built, text};
use huon_testkit::figures;
use tempfile::TempDir;

/// Where the programs are, and a directory for one test's files.
struct Debian {
    /// What they were unpacked to; else they are installed.
    root: Option<PathBuf>,
    built: Built<'static>,
    dir: TempDir,
}

/// What a program said and how it ended.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    all: String,
}

impl Said {
    /// It succeeded, and said this.
    #[track_caller]
    fn is(&self, expected: &str) {
        assert!(self.code == Some(0) && self.out == expected, "{self:?}, expected {expected:?}");
    }

    /// It succeeded, and said this among other things.
    #[track_caller]
    fn has(&self, expected: &str) {
        assert!(self.code == Some(0) && self.out.contains(expected), "{self:?}, not {expected:?}");
    }

    #[track_caller]
    fn failed(&self, code: i32) {
        assert!(self.code == Some(code), "{self:?}");
    }
}

impl Debian {
    fn new() -> Debian {
        let root = std::env::var_os("HUON_DEBIAN_ROOT").map(PathBuf::from);
        Debian { root, built: LIBRARY.built(), dir: tempfile::tempdir().expect("a directory") }
    }

    /// A path in the test's directory.
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file");
    }

    fn make(&self, names: &[&str]) {
        names.iter().for_each(|name| fs::create_dir(self.path(name)).expect("a directory"));
    }

    /// What Debian installs as `/usr/{name}`.
    fn usr(&self, name: &str) -> PathBuf {
        self.root.as_deref().unwrap_or(Path::new("/")).join("usr").join(name)
    }

    /// The same for libraries of this machine.
    fn lib(&self, name: &str) -> PathBuf {
        self.usr(&format!("lib/{}-linux-gnu", std::env::consts::ARCH)).join(name)
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        let paths = std::env::var_os("PATH").filter(|_| self.root.is_none()).unwrap_or_default();
        let usual = [self.usr("sbin"), self.usr("bin")];
        let mut dirs = std::env::split_paths(&paths).chain(usual);
        dirs.find(|dir| dir.join(name).is_file()).map(|dir| dir.join(name))
    }

    /// `program`, with our library and the test's directory.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let mut libraries = vec![self.built.path().to_owned()];
        if self.root.is_some() {
            libraries.extend([self.lib(""), self.lib("samba")]);
            libraries.extend([self.usr("lib"), self.usr("lib/postfix")]);
        }
        let libraries = std::env::join_paths(libraries).expect("paths of directories");
        command.env("LD_LIBRARY_PATH", libraries).current_dir(self.dir.path());
        command.stdin(Stdio::null());
        command
    }

    /// Runs `program` to its end, with `input` as a file to read from.
    fn run(&self, program: &Path, args: &[&str], input: &str) -> Said {
        let mut command = self.command(program);
        command.args(args).env("MAIL_CONFIG", self.path("conf"));
        command.env("LDB_MODULES_PATH", self.lib("samba/ldb"));
        if !input.is_empty() {
            self.write("input", input);
            command.stdin(fs::File::open(self.path("input")).expect("a file"));
        }
        let output = command.output().expect("a program that starts");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        Said { code: output.status.code(), out, all: text(&output) }
    }

    /// Opens a file that a program has made, checks it, and says how many records its main table
    /// has.
    #[track_caller]
    fn records_of(&self, name: &str) -> u64 {
        let env = huon::Env::options().open(self.path(name)).expect("a file of Huon's");
        let report = env.check().expect("a check");
        assert!(report.is_clean(), "{name}: {report:?}");
        let txn = env.read().expect("a transaction");
        let main = txn.open_table(&TableDef::<Bytes, Bytes>::main()).expect("it opens");
        main.expect("a main table").len(&txn).expect("a count")
    }
}

/// Notes that a test is skipped, for want of a program or a module.
fn skip(test: &str, what: &str) {
    figures::skip(test, &format!("Debian's {what} is not there"));
}

const MAIN_CF: &str = "
compatibility_level = 3.6
mail_owner = daemon
setgid_group = mail
myhostname = mail.example.com
inet_interfaces = loopback-only
";

#[test]
fn postmap_of_postfix() {
    const NAME: &str = "postmap_of_postfix";
    let debian = Debian::new();
    let Some(postmap) = debian.program("postmap") else { return skip(NAME, "postmap") };
    if !debian.usr("lib/postfix/postfix-lmdb.so").exists() {
        return skip(NAME, "postfix-lmdb");
    }
    debian.make(&["conf", "data", "queue"]);
    let place = |name: &str, path: &Path| format!("{name} = {}\n", path.display());
    let config = [
        place("meta_directory", &debian.path("conf")),
        place("data_directory", &debian.path("data")),
        place("queue_directory", &debian.path("queue")),
        place("shlib_directory", &debian.usr("lib/postfix")),
        place("daemon_directory", &debian.usr("lib/postfix/sbin")),
        place("command_directory", &debian.usr("sbin")),
    ];
    debian.write("conf/main.cf", MAIN_CF.to_owned() + &config.concat());
    let module = "lmdb\tpostfix-lmdb.so\tdict_lmdb_open\tmkmap_lmdb_open\n";
    debian.write("conf/dynamicmaps.cf", module);
    let lines = |count: u32| (0..count).map(|n| format!("user{n}@example.com  box{}\n", n * 7));
    debian.write("table", lines(2000).collect::<String>());
    let run = |args: &[&str]| debian.run(&postmap, args, "");

    run(&["lmdb:table"]).is("");
    run(&["-q", "user77@example.com", "lmdb:table"]).is("box539\n");
    run(&["-q", "stranger@example.com", "lmdb:table"]).failed(1);
    let mut listed: Vec<String> =
        lines(2000).map(|line| line.trim().replace("  ", "\t") + "\n").collect();
    listed.sort();
    run(&["-s", "lmdb:table"]).is(&listed.concat());
    run(&["-d", "user77@example.com", "lmdb:table"]).is("");
    run(&["-q", "user77@example.com", "lmdb:table"]).failed(1);

    let add = |flag: &str, line: &str| debian.run(&postmap, &[flag, "lmdb:table"], line);
    add("-i", "new@example.com boxnew\n").is("");
    let again = add("-i", "new@example.com other\n");
    assert!(again.all.contains("duplicate entry: \"new@example.com\""), "{again:?}");
    run(&["-q", "new@example.com", "lmdb:table"]).is("boxnew\n");
    add("-ir", "new@example.com other\n").is("");
    run(&["-q", "new@example.com", "lmdb:table"]).is("other\n");
    assert_eq!(debian.records_of("table.lmdb"), 2000);

    // More than its first map holds, which has 16 MiB: postmap doubles it and begins again.
    let long = "x".repeat(1000);
    let more = (0..20_000).map(|n| format!("user{n}@example.com  {n}-{long}\n"));
    debian.write("table", more.collect::<String>());
    run(&["lmdb:table"]).is("");
    run(&["-q", "user9999@example.com", "lmdb:table"]).is(&format!("9999-{long}\n"));
    assert_eq!(debian.records_of("table.lmdb"), 20_000);
    assert!(fs::metadata(debian.path("table.lmdb")).expect("a file").len() > 17 << 20);
}

/// Two hundred people and the indexes that Samba would have for them.
fn ldif() -> String {
    let mut ldif = "dn: @INDEXLIST\n@IDXGUID: objectGUID\n@IDX_DN_GUID: GUID\n\
                    @IDXATTR: cn\n@IDXATTR: mail\n"
        .to_owned();
    for n in 0..200 {
        ldif += &format!(
            "\ndn: cn=user{n},dc=example,dc=com\ncn: user{n}\nobjectGUID: guid{n:012}\n\
             mail: user{}@example.com\nobjectClass: person\ndescription: {}\n",
            n % 20,
            format!("text of {n} ").repeat(1 + n % 50),
        );
    }
    ldif
}

#[test]
fn ldb_tools_of_samba() {
    const NAME: &str = "ldb_tools_of_samba";
    let debian = Debian::new();
    let tools = ["ldbadd", "ldbsearch", "ldbmodify", "ldbdel"].map(|name| debian.program(name));
    let [Some(add), Some(search), Some(modify), Some(delete)] = tools else {
        return skip(NAME, "ldb-tools");
    };
    if !debian.lib("samba/ldb/mdb.so").exists() {
        return skip(NAME, "module mdb of libldb2");
    }
    debian.write("in.ldif", ldif());
    let on = |tool: &Path, args: &[&str]| {
        debian.run(tool, &[&["-H", "mdb://people.ldb"], args].concat(), "")
    };
    on(&add, &["in.ldif"]).is("Added 201 records successfully\n");
    let found = on(&search, &["(cn=user77)"]);
    found.has("dn: cn=user77,dc=example,dc=com\n");
    found.has("# returned 1 records\n");
    let entries = |filter: &str, count: u32| {
        on(&search, &[filter, "dn"]).has(&format!("# {count} entries\n"));
    };
    entries("(mail=user3@example.com)", 10);

    let change = "dn: cn=user77,dc=example,dc=com\nchangetype: modify\nreplace: mail\n\
                  mail: elsewhere@example.com\n";
    debian.write("change.ldif", change);
    on(&modify, &["change.ldif"]).is("Modified 1 records successfully\n");
    entries("(mail=elsewhere@example.com)", 1);
    entries("(mail=user17@example.com)", 9);
    on(&delete, &["cn=user3,dc=example,dc=com", "cn=user23,dc=example,dc=com"])
        .is("Deleted 1 record\nDeleted 1 record\n");
    entries("(mail=user3@example.com)", 8);
    on(&delete, &["cn=stranger,dc=example,dc=com"]).failed(32);
    // The whole of it fails on its first record, and changes nothing.
    on(&add, &["in.ldif"]).failed(68);
    entries("(objectClass=*)", 198);
    assert!(debian.records_of("people.ldb") > 198, "people and indexes");
}

const DBA: &str = r#"<?php
function told($answer) { echo json_encode($answer), "\n"; }
$d = dba_open("t.lmdb", "c", "lmdb");
for ($i = 0; $i < 300; $i++)
    if (dba_insert("key$i", str_repeat("value $i ", 5), $d) !== true) echo "no\n";
told(dba_insert("key7", "again", $d));
told(dba_replace("key7", "again", $d));
told([dba_fetch("key7", $d), dba_exists("key8", $d)]);
told([dba_exists("none", $d), dba_fetch("none", $d)]);
told([dba_delete("key8", $d), @dba_delete("key8", $d)]);
$keys = []; for ($k = dba_firstkey($d); $k !== false; $k = dba_nextkey($d)) $keys[] = $k;
told([count($keys), array_slice($keys, 0, 4)]);
told([dba_sync($d), dba_optimize($d)]);
dba_close($d);

$d = dba_open("t.lmdb", "r", "lmdb");
told([dba_fetch("key7", $d), @dba_insert("x", "y", $d)]);
dba_close($d);

// Its map has 1 MiB: a full one can be emptied and filled again.
$d = dba_open("t.lmdb", "w", "lmdb");
$long = str_repeat("x", 8000);
for ($full = 0; $full < 400 && @dba_insert("big$full", $long, $d); $full++);
told($full > 50 && $full < 200);
for ($i = 0; $i < 20; $i++) if (dba_delete("big$i", $d) !== true) echo "no\n";
told([dba_insert("later", "fits", $d), dba_fetch("later", $d)]);
for ($i = 20; $i < $full; $i++) dba_delete("big$i", $d);
dba_close($d);
"#;

#[test]
fn dba_of_php() {
    const NAME: &str = "dba_of_php";
    let debian = Debian::new();
    let php = ["php8.2", "php8.3", "php8.4", "php"].iter().find_map(|name| debian.program(name));
    let Some(php) = php else { return skip(NAME, "php-cli") };
    let dirs = fs::read_dir(debian.usr("lib/php")).into_iter().flatten().flatten();
    let dba = dirs.map(|dir| dir.path().join("dba.so")).find(|path| path.exists());
    let Some(dba) = dba else { return skip(NAME, "php-dba") };
    debian.write("t.php", DBA);
    let extension = format!("extension={}", dba.display());
    debian.run(&php, &["-n", "-d", &extension, "t.php"], "").is(concat!(
        "false\n",
        "true\n",
        "[\"again\",true]\n",
        "[false,false]\n",
        "[true,false]\n",
        "[299,[\"key0\",\"key1\",\"key10\",\"key100\"]]\n",
        "[true,true]\n",
        "[\"again\",false]\n",
        "true\n",
        "[true,\"fits\"]\n",
    ));
    assert_eq!(debian.records_of("t.lmdb"), 300);
}

#[test]
fn keymgr_of_knot() {
    let debian = Debian::new();
    let Some(keymgr) = debian.program("keymgr") else { return skip("keymgr_of_knot", "keymgr") };
    debian.make(&["kasp"]);
    let on = |args: &[&str]| debian.run(&keymgr, &[&["-D", "kasp"], args].concat(), "");
    let mut ids = Vec::new();
    for ksk in ["yes", "no", "no"] {
        let ksk = format!("ksk={ksk}");
        let said = on(&["example.com.", "generate", "algorithm=ECDSAP256SHA256", &ksk]);
        said.has("\n");
        ids.push(said.out.trim().to_owned());
    }
    let listed = on(&["example.com.", "list"]);
    assert_eq!(listed.out.lines().count(), 3, "{listed:?}");
    ids.iter().for_each(|id| listed.has(id));
    on(&["example.com.", "delete", &ids[1]]).is("OK\n");
    let listed = on(&["example.com.", "list"]);
    assert_eq!(listed.out.lines().count(), 2, "{listed:?}");
    on(&["other.org.", "generate", "algorithm=ED25519"]).has("\n");
    on(&["-l"]).has("other.org.\n");
    assert_eq!(debian.records_of("kasp/data.mdb"), 1, "a database's name");
}

const ZONE: &str = "$ORIGIN example.com.
$TTL 3600
@ SOA ns hostmaster 1 3600 600 86400 300
@ NS ns
ns A 127.0.0.1
";

/// The server, which is ended with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn knotd_and_its_journal() {
    const NAME: &str = "knotd_and_its_journal";
    let debian = Debian::new();
    let programs = ["knotd", "knotc", "kjournalprint"].map(|name| debian.program(name));
    let [Some(knotd), Some(knotc), Some(print)] = programs else { return skip(NAME, "knot") };
    debian.make(&["zones", "run", "db"]);
    debian.write("zones/example.com.zone", ZONE);
    let dir = debian.dir.path().display();
    let config = format!(
        "server:\n  rundir: {dir}/run\ndatabase:\n  storage: {dir}/db\n\
         template:\n- id: default\n  storage: {dir}/zones\n  file: \"%s.zone\"\n\
         \x20 journal-content: all\n  zonefile-load: difference-no-serial\n  zonefile-sync: -1\n\
         \x20 dnssec-signing: on\nzone:\n- domain: example.com\n"
    );
    debian.write("knot.conf", config);
    let mut start = debian.command(&knotd);
    start.args(["-c", "knot.conf"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Server(start.spawn().expect("a server that starts"));
    let ask = |args: &[&str]| debian.run(&knotc, &[&["-s", "run/knot.sock"], args].concat(), "");
    let answers = |args: &[&str], wanted: &str| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !ask(args).out.contains(wanted) {
            assert!(Instant::now() < deadline, "{:?}, not {wanted:?}", ask(args));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    answers(&["zone-read", "example.com", "@", "SOA"], "example.com. 3600 SOA");
    for n in 1..4 {
        let owner = format!("h{n}");
        ask(&["zone-begin", "example.com"]).is("OK\n");
        ask(&["zone-set", "example.com", &owner, "300", "A", "10.0.0.1"]).is("OK\n");
        ask(&["zone-commit", "example.com"]).is("OK\n");
        answers(&["zone-read", "example.com", &owner, "RRSIG"], "RRSIG A");
    }
    ask(&["stop"]).is("Stopped\n");
    assert!(server.0.wait().expect("the server").success());

    let journal = debian.run(&print, &["-n", "db/journal", "example.com."], "");
    for n in 1..4 {
        let lines = journal.out.lines().filter(|line| line.contains("10.0.0.1"));
        let owner = format!("h{n}.example.com.");
        assert_eq!(lines.filter(|line| line.starts_with(&owner)).count(), 1, "{journal:?}");
    }
    journal.has("RRSIG");
    assert!(debian.records_of("db/journal/data.mdb") > 3);
    debian.records_of("db/timers/data.mdb");
    debian.records_of("db/keys/data.mdb");
}

#[test]
fn zones_that_were_added_to_named() {
    const NAME: &str = "zones_that_were_added_to_named";
    let debian = Debian::new();
    let Some(print) = debian.program("named-nzd2nzf") else { return skip(NAME, "named-nzd2nzf") };
    let zones = || (0..40).map(|n| (format!("z{n:02}.example"), "{ type primary; }"));
    // A program in C reads what one in Rust has written.
    let env = huon::Env::options().open(debian.path("_default.nzd")).expect("an environment");
    let filled = env.update(|txn| {
        let main = txn.create_table(&TableDef::<Bytes, Bytes>::main())?;
        zones()
            .try_for_each(|(name, zone)| main.put(txn, name.as_bytes(), zone.as_bytes()).map(drop))
    });
    filled.expect("a commit");
    let listed: Vec<String> =
        zones().map(|(name, zone)| format!("zone \"{name}\" {zone};\n")).collect();
    debian.run(&print, &["_default.nzd"], "").is(&listed.concat());
    env.close().expect("a close");
    assert_eq!(debian.records_of("_default.nzd"), 40);
}

#[test]
fn pdnsutil_of_powerdns() {
    const NAME: &str = "pdnsutil_of_powerdns";
    let debian = Debian::new();
    let Some(util) = debian.program("pdnsutil") else { return skip(NAME, "pdnsutil") };
    let modules = debian.lib("pdns");
    if !modules.join("liblmdbbackend.so").exists() {
        return skip(NAME, "pdns-backend-lmdb");
    }
    let dir = debian.dir.path().display();
    let modules = modules.display();
    let config = format!(
        "launch=lmdb\nlmdb-filename={dir}/pdns.lmdb\nlmdb-shards=2\nmodule-dir={modules}\n"
    );
    debian.write("pdns.conf", config);
    let on = |args: &[&str]| debian.run(&util, &[&["--config-dir=."], args].concat(), "");
    on(&["create-zone", "example.com", "ns1.example.com"]).has("");
    for n in 1..30 {
        on(&["add-record", "example.com", &format!("h{n}"), "A", &format!("10.0.0.{n}")]).has("");
    }
    on(&["create-zone", "other.org"]).has("");
    on(&["list-zone", "example.com"]).has("h7.example.com\t3600\tIN\tA\t10.0.0.7\n");
    on(&["secure-zone", "example.com"]).has("");
    on(&["delete-rrset", "example.com", "h7", "A"]).has("");
    let listed = on(&["list-zone", "example.com"]);
    assert_eq!(listed.out.lines().count(), 31, "{listed:?}");
    on(&["list-all-zones"]).is("example.com\nother.org\n");
    on(&["delete-zone", "other.org"]).has("");
    on(&["list-all-zones"]).is("example.com\n");
    let names = ["pdns.lmdb", "pdns.lmdb-0", "pdns.lmdb-1"];
    let made = names.into_iter().filter(|name| debian.path(name).exists());
    let records: Vec<_> = made.map(|name| debian.records_of(name)).collect();
    assert!(records.len() > 1, "its data, and a shard");
}

const PERL: &str = r#"
use LMDB_File qw(:all);
my $env = LMDB::Env->new(".", { mapsize => 10 << 20, maxdbs => 20, mode => 0600 });
my $txn = $env->BeginTxn();
my $db = $txn->OpenDB({ dbname => "t", flags => MDB_CREATE });
$db->put("key$_", "value$_") for 1 .. 500;
$txn->commit;

$txn = $env->BeginTxn(MDB_RDONLY);
$db = $txn->OpenDB("t");
print $db->get("key77"), " ", $db->stat->{entries}, "\n";
$txn->abort;

$txn = $env->BeginTxn();
$db = $txn->OpenDB({ dbname => "many", flags => MDB_CREATE | MDB_DUPSORT });
for my $k (1 .. 20) { $db->put("k$k", "v$_") for 1 .. $k }
my $cursor = $db->Cursor;
my ($k, $v, $count, $seen) = ("k7", "", 0, 1);
$cursor->get($k, $v, MDB_SET_KEY);
$cursor->count($count);
$seen++ while eval { $cursor->get($k, $v, MDB_NEXT_DUP); 1 };
print "$count $seen\n";
undef $cursor;
$txn->commit;

$txn = $env->BeginTxn();
$db = $txn->OpenDB({ dbname => "backwards", flags => MDB_CREATE });
$db->set_compare(sub { $b <=> $a });
$db->put($_, "n$_") for (5, 100, 20, 3);
$cursor = $db->Cursor;
my ($op, @keys) = MDB_FIRST;
while (eval { $cursor->get($k, $v, $op); 1 }) { push @keys, $k; $op = MDB_NEXT }
print "@keys\n";
undef $cursor;
$txn->commit;
"#;

#[test]
fn lmdb_file_of_perl() {
    const NAME: &str = "lmdb_file_of_perl";
    let debian = Debian::new();
    // The system's own programs use the unpacked files.
    let perl = debian.program("perl").unwrap_or("/usr/bin/perl".into());
    let dirs = fs::read_dir(debian.lib("perl5")).into_iter().flatten().flatten();
    let found = dirs.map(|dir| dir.path()).find(|dir| dir.join("LMDB_File.pm").exists());
    let Some(dir) = found.filter(|_| perl.exists()) else {
        return skip(NAME, "liblmdb-file-perl");
    };
    debian.write("t.pl", PERL);
    let modules = format!("-I{}", dir.display());
    debian.run(&perl, &[&modules, "t.pl"], "").is("value77 500\n7 7\n100 20 5 3\n");
    assert_eq!(debian.records_of("data.mdb"), 3, "names of databases");
}
