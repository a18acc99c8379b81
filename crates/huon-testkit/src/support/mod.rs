//! What all families of tests use.

pub mod audit;
pub mod figures;
pub mod maps;
pub mod random;
pub mod scale;
pub mod shrink;
pub mod trail;

/// The environment's error behind one of text. An error of the text itself is a bug of the test's.
pub fn of_the_store(error: huon_text::Error) -> huon::Error {
    match error {
        huon_text::Error::Store(error) => error,
        error => panic!("{error}"),
    }
}
