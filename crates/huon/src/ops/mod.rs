//! Whole-file operations.
