//! Huon: an embedded, transactional, ordered key-value store in one memory-mapped file.
