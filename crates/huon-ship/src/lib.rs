//! Ships [Huon](huon) files to a bucket: what each commit changes goes to another machine, from
//! which the file is restored to any point in time, and which other files follow.
//!
//! A store inside a program is lost with its machine. Here a thread, of the program or of any other
//! that opens the file, sends the pages that have changed to a [`Bucket`] once a second: a
//! directory on another disk or a file server. What is there is a *log* of immutable objects with
//! dense numbers.
//!
//! - [`ShipOptions::start`] gives a [`Shipper`]. [`Shipper::wait`] is done when a commit is in the
//!   log, which makes it durable on two machines.
//! - [`Remote::restore`] makes a file of what was shipped: the newest snapshot, or that of a
//!   [`Point`].
//! - A [`Follower`] is a file that takes over what is shipped. Any number of processes read it, and
//!   [`Follower::promote`] makes it the one that is written.
//! - [`Remote::hold`] keeps a point, [`Remote::collect`] deletes what is older than all that is to
//!   be kept, [`Remote::check`] reads everything.
//!
//! # What is kept when what fails
//!
//! | what | what happens |
//! |---|---|
//! | the machine is lost | what was shipped is restored: all commits but those of the last second |
//! | the shipper is killed | the next one goes on from the same snapshot, which the file names |
//! | two shippers run | the later one has taken over, and fences the earlier one off |
//! | an answer of the bucket is lost | it is read whether the object is there |
//! | the bucket cannot be reached | commits go on; the file keeps what is not shipped |
//! | an object is damaged, or missing | it is named; a restore goes to points before it |
//! | a file was restored from an older copy | it is refused: it does not know where the log is |
//!
//! # Invariants
//!
//! S1 to S4 are in `log.rs`, T1 to T3 in `pump.rs`.

#![warn(missing_docs)]

mod bucket;
mod cipher;
mod error;
mod follow;
mod keep;
mod log;
#[cfg(test)]
mod model_tests;
mod object;
mod point;
mod pump;
mod remote;
mod restore;
mod ship;
mod stream;

pub use bucket::{Bucket, Directory, Listed, Memory, Object, Version};
pub use cipher::Key;
pub use error::{Error, Result};
pub use follow::Follower;
pub use keep::{CollectOptions, CollectReport, RemoteCheck};
pub use point::{Moment, Point};
pub use remote::{Hold, Remote, RemoteOptions};
pub use ship::{ShipOptions, ShipProgress, Shipper};
