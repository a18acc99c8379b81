//! A full-text index: which files have all of these words?
//!
//! ```text
//! search notes.huon index docs/*.md
//! search notes.huon find free list
//! ```
//!
//! The index is a multimap from words to numbers of documents. A document that is indexed again
//! takes its old words out first. Many words of one document go into one transaction, so a reader
//! never sees half of it.

use std::collections::{BTreeMap, BTreeSet};

use huon::{Env, Multi, MultiDef, ReadTxn, Result, Str, Table, TableDef, U32, U64, WriteTxn};

/// Names of documents by number, and the other way round.
const NAMES: TableDef<U64, Str> = TableDef::new("names");
const NUMBERS: TableDef<Str, U64> = TableDef::new("numbers");
/// Where each word is.
const POSTINGS: MultiDef<Str, U64> = MultiDef::new("postings");
/// How often each document has each of its words.
const COUNTS: TableDef<(U64, Str), U32> = TableDef::new("counts");

#[derive(Clone, Copy)]
struct Index {
    names: Table<U64, Str>,
    numbers: Table<Str, U64>,
    postings: Multi<Str, U64>,
    counts: Table<(U64, Str), U32>,
}

/// The words of a text, in lower case, and how often each is there. Words that fit no key are cut.
fn words(text: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        let word: String = word.chars().flat_map(char::to_lowercase).take(64).collect();
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

impl Index {
    fn open(env: &Env) -> Result<Index> {
        env.update(|txn| {
            Ok(Index {
                names: txn.create_table(&NAMES)?,
                numbers: txn.create_table(&NUMBERS)?,
                postings: txn.create_table(&POSTINGS)?,
                counts: txn.create_table(&COUNTS)?,
            })
        })
    }

    fn number(&self, txn: &mut WriteTxn, name: &str) -> Result<u64> {
        if let Some(number) = self.numbers.get(txn, name)? {
            return Ok(number);
        }
        let number = self.names.take_sequence(txn, 1)?;
        self.names.put(txn, number, name)?;
        self.numbers.put(txn, name, number)?;
        Ok(number)
    }

    /// Takes a document's words out of the index.
    fn forget(&self, txn: &mut WriteTxn, number: u64) -> Result<()> {
        let old: Vec<String> = self
            .counts
            .range(txn, (number, "")..(number + 1, ""))?
            .map(|count| count.map(|((_, word), _)| word.to_owned()))
            .collect::<Result<_>>()?;
        for word in old {
            self.postings.remove(txn, &word, number)?;
            self.counts.remove(txn, (number, &word))?;
        }
        Ok(())
    }

    fn put(&self, txn: &mut WriteTxn, name: &str, text: &str) -> Result<usize> {
        let number = self.number(txn, name)?;
        self.forget(txn, number)?;
        let words = words(text);
        for (word, count) in &words {
            self.postings.put(txn, word, number)?;
            self.counts.put(txn, (number, word), *count)?;
        }
        Ok(words.len())
    }

    /// Documents that have all words, those that have them most often first.
    fn find(&self, txn: &ReadTxn, query: &str) -> Result<Vec<(u32, String)>> {
        let wanted: BTreeSet<String> = words(query).into_keys().collect();
        // The rarest word first: its documents are looked up in the lists of the others.
        let mut rarest = Vec::new();
        for word in &wanted {
            rarest.push((self.postings.count_of(txn, word)?, word));
        }
        rarest.sort();
        let Some(((_, first), others)) = rarest.split_first() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        'documents: for number in self.postings.values(txn, first)? {
            let number = number?;
            for (_, word) in others {
                if !self.postings.contains(txn, word, number)? {
                    continue 'documents;
                }
            }
            let mut total = 0;
            for word in &wanted {
                total += self.counts.get(txn, (number, word))?.unwrap_or(0);
            }
            let name = self.names.get(txn, number)?.unwrap_or("?");
            found.push((total, name.to_owned()));
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Ok(found)
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, order, rest @ ..] = args.as_slice() else {
        return Err("usage: search FILE index DOCUMENT.. | search FILE find WORD..".into());
    };
    let env = Env::open(path)?;
    let index = Index::open(&env)?;
    match order.as_str() {
        "index" => {
            for name in rest {
                let text = std::fs::read_to_string(name)?;
                let words = env.update(|txn| index.put(txn, name, &text))?;
                println!("{name}: {words} words");
            }
        }
        "find" => {
            for (total, name) in env.view(|txn| index.find(txn, &rest.join(" ")))? {
                println!("{total:5} {name}");
            }
        }
        other => return Err(format!("neither index nor find: {other}").into()),
    }
    Ok(())
}
