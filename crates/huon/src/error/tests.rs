use super::*;

#[test]
fn error_stays_small() {
    assert!(std::mem::size_of::<Error>() <= 24);
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<Error>();
}

/// A cause of a cause.
#[derive(Debug)]
struct Deep(&'static str, Option<Box<Deep>>);

impl fmt::Display for Deep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Deep {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.1.as_deref().map(|deep| deep as _)
    }
}

const CAUSES: [&str; 3] = ["first cause", "second cause", "third cause"];

fn deep() -> Deep {
    let [first, second, third] = CAUSES;
    Deep(first, Some(Box::new(Deep(second, Some(Box::new(Deep(third, None)))))))
}

/// One error of each kind, or several where kinds have several forms, and the causes that its
/// chain must say. The numbers say whether one is missing.
fn each_kind() -> Vec<(Error, Vec<&'static str>)> {
    let io = |place, source| Error::io("flush", place, source);
    let system = || std::io::Error::from_raw_os_error(28);
    let whole = CAUSES.to_vec();
    let (limit, max) = (4096, 1000);
    let with = vec![
        (io("a.huon", system()), vec!["os error 28"]),
        (io("", system()), vec!["os error 28"]),
        (io("a.huon", std::io::Error::other(deep())), whole.clone()),
        (Error::Decode(Box::new(deep())), whole),
        (Error::Decode("not a number".into()), vec!["not a number"]),
        (Error::Encode("not a map".into()), vec!["not a map"]),
    ];
    let without = vec![
        Error::KeyTooLong { bytes: 2000, max },
        Error::ValueTooLong,
        Error::KeyLength,
        Error::KeyOutOfOrder,
        Error::TableNotFound,
        Error::TableKind,
        Error::TableExists,
        Error::ReadOnly,
        Error::Invalid("it makes no sense"),
        Error::map_full(limit, 2 * limit),
        Error::TxnBroken,
        Error::Busy("client 3 holds it".into()),
        Error::NotADatabase("a text".into()),
        Error::Version("7".into()),
        Error::PageSize { found: 4096, wanted: 8192 },
        Error::Poisoned,
        Error::Forked,
        Error::corrupt(7, "it is torn"),
        Error::corrupt_file("it is short"),
        Error::SortedValueTooLong { bytes: 2000, max },
        Error::ValueLength,
        Error::ManyValues,
        Error::OutOfMemory,
        Error::MapTooSmall { needed_bytes: 2 * limit, map_bytes: limit },
        Error::Evicted,
        Error::wrong_order("by-length", "backwards"),
        Error::table_type("<str, u64>", "<str, str>"),
        Error::ThreadWrites,
        Error::EnvironmentsFull { max },
        Error::NameTaken,
        Error::OrderUnknown,
        Error::PrefixOrder,
        Error::TablesInside,
        Error::Journal("it is lost".into()),
        Error::Diverged("d".into()),
    ];
    with.into_iter().chain(without.into_iter().map(|error| (error, vec![]))).collect()
}

#[test]
fn a_chain_says_each_cause_once() {
    let errors = each_kind();
    let codes: std::collections::BTreeSet<_> = errors.iter().map(|(e, _)| e.code()).collect();
    assert!(codes.into_iter().eq(1..=Error::CODES), "one of each kind");
    for (error, causes) in errors {
        // As anyhow and its like print it.
        let chain = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
        let lines: Vec<_> = chain.map(|e| e.to_string()).collect();
        let whole = lines.join(": ");
        for cause in &causes {
            assert_eq!(whole.matches(cause).count(), 1, "{cause} in {whole}");
        }
        if let Some(first) = causes.first() {
            assert!(lines[0].contains(first), "E1: {first} is not in {}", lines[0]);
        }
        for (at, line) in lines.iter().enumerate() {
            assert!(!lines[..at].iter().any(|said| said.contains(line)), "{line} in {whole}");
        }
    }
}
