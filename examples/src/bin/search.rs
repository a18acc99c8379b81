//! A full-text index: which files have all of these words?
//!
//! ```text
//! cargo run -p huon-examples --bin search -- notes.huon index docs/*.md
//! cargo run -p huon-examples --bin search -- notes.huon find free list
//! ```
//!
//! The index is a multimap from words to the numbers of documents. A document lists its words, so
//! that it can be indexed again; it is a value of any type that `serde` knows. All words of a
//! document are one transaction: no reader sees half of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::error::Error;

use huon::{Env, Multi, MultiDef, Postcard, ReadTxn, Str, Table, TableDef, U64, WriteTxn};
use serde::{Deserialize, Serialize};

const DOCUMENTS: TableDef<U64, Postcard<Document>> = TableDef::new("documents");
const NUMBERS: TableDef<Str, U64> = TableDef::new("numbers");
const POSTINGS: MultiDef<Str, U64> = MultiDef::new("postings");

#[derive(Serialize, Deserialize)]
struct Document {
    name: String,
    /// How often each word is in it.
    words: BTreeMap<String, u32>,
}

#[derive(Clone, Copy)]
struct Index {
    documents: Table<U64, Postcard<Document>>,
    numbers: Table<Str, U64>,
    postings: Multi<Str, U64>,
}

impl Index {
    fn create(txn: &mut WriteTxn) -> huon::Result<Index> {
        Ok(Index {
            documents: txn.create_table(&DOCUMENTS)?,
            numbers: txn.create_table(&NUMBERS)?,
            postings: txn.create_table(&POSTINGS)?,
        })
    }

    /// Indexes a document, in the place of an older one of that name; how many words it has.
    fn put(self, txn: &mut WriteTxn, name: &str, text: &str) -> huon::Result<usize> {
        let number = match self.numbers.get(txn, name)? {
            Some(number) => number,
            None => {
                let number = self.documents.take_sequence(txn, 1)?;
                self.numbers.put(txn, name, number)?;
                number
            }
        };
        let document = Document { name: name.to_owned(), words: words(text) };
        if let Some(old) = self.documents.replace(txn, number, &document)? {
            for word in old.get()?.words.keys() {
                self.postings.remove(txn, word, number)?;
            }
        }
        for word in document.words.keys() {
            self.postings.put(txn, word, number)?;
        }
        Ok(document.words.len())
    }

    /// The documents that have all words of a query, and how often: the most often first.
    fn find(self, txn: &ReadTxn, query: &str) -> huon::Result<Vec<(u32, String)>> {
        // The rarest word first: its documents are looked for among those of the others.
        let mut wanted = Vec::new();
        for word in words(query).into_keys() {
            wanted.push((self.postings.count_values(txn, &word)?, word));
        }
        wanted.sort();
        let Some(((_, rarest), others)) = wanted.split_first() else { return Ok(Vec::new()) };
        let mut hits: Vec<u64> = self.postings.values(txn, rarest)?.collect::<huon::Result<_>>()?;
        for (_, word) in others {
            let mut left = Vec::new();
            for number in hits {
                if self.postings.contains(txn, word, number)? {
                    left.push(number);
                }
            }
            hits = left;
        }
        let mut found = Vec::new();
        self.documents.get_many(txn, &hits, |_, document| {
            found.extend(document.map(|Document { name, words }| {
                (wanted.iter().filter_map(|(_, word)| words.get(word)).sum(), name)
            }));
        })?;
        found.sort_by_key(|(count, _)| Reverse(*count));
        Ok(found)
    }
}

/// The words of a text in lower case, cut to a length that fits a key, and how often each is there.
fn words(text: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.chars().flat_map(char::to_lowercase).take(64).collect();
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, command, rest @ ..] = &args[..] else {
        return Err("search FILE index DOCUMENT.. | find WORD..".into());
    };
    let env = Env::open(path)?;
    let index = env.update(Index::create)?;
    match command.as_str() {
        "index" => {
            for name in rest {
                let text = std::fs::read_to_string(name)?;
                let words = env.update(|txn| index.put(txn, name, &text))?;
                println!("{name}: {words} words");
            }
        }
        "find" => {
            for (count, name) in env.view(|txn| index.find(txn, &rest.join(" ")))? {
                println!("{count} {name}");
            }
        }
        _ => return Err("search FILE index DOCUMENT.. | find WORD..".into()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_takes_the_place_of_an_older_one() -> huon::Result<()> {
        let env = Env::in_memory()?;
        let index = env.update(Index::create)?;
        let find = |query| env.view(|txn| index.find(txn, query));
        env.update(|txn| {
            index.put(txn, "a", "The free list, and a list of lists.")?;
            index.put(txn, "b", "A list; Stra\u{df}e.")
        })?;
        assert_eq!(find("LIST")?, [(2, "a".to_owned()), (1, "b".to_owned())]);
        assert_eq!(find("free list")?, [(3, "a".to_owned())]);
        assert_eq!(find("stra\u{df}e")?, [(1, "b".to_owned())]);
        assert!(find("free lunch")?.is_empty() && find("")?.is_empty());
        env.update(|txn| index.put(txn, "a", "Nothing of the kind."))?;
        assert_eq!(find("list")?, [(1, "b".to_owned())]);
        Ok(())
    }
}
