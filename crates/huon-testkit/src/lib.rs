//! Models, random histories and crash images for testing Huon.

pub mod audit;
pub mod c_programs;
pub mod calls;
mod changes;
mod clients;
pub mod crash;
pub mod faults;
pub mod figures;
pub mod fuzz;
mod handle;
pub mod history;
pub mod hostile;
pub mod install;
mod looks;
mod maker;
pub mod maps;
pub mod model;
mod multi;
mod notes;
pub mod pairs;
pub mod program;
pub mod random;
mod readers;
pub mod scale;
mod scans;
pub mod shrink;
pub mod torture;
pub mod trail;

/// The environment's error behind one of text. An error of the text itself is a bug of the test's.
pub fn of_the_store(error: huon_text::Error) -> huon::Error {
    match error {
        huon_text::Error::Store(error) => error,
        error => panic!("{error}"),
    }
}
