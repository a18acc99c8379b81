//! The command `huon_dump`, with the flags of `mdbx_dump`.

fn main() -> std::process::ExitCode {
    huon_cli::alias::dump()
}
