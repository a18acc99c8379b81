//! The command `huon_load`, with the flags of `mdbx_load`.

fn main() -> std::process::ExitCode {
    huon_cli::alias::load()
}
