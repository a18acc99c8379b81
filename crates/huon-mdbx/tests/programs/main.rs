//! Programs that use the library as those of libmdbx do: built here, or by others.

mod c_programs;
mod cpp;
mod install;
