//! Programs that use the library as those of LMDB do: built here, or by others.

mod c_programs;
mod debian;
mod install;
mod library;
mod mixed;
