//! Random histories and their like beside models, and threads and clients on one file.

mod fingers;
mod model;
mod small;
mod stress;
