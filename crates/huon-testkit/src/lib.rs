//! Models, random histories and crash images for testing Huon.

pub mod figures;
