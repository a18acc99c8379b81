//! The command `huon_copy`, with the flags of `mdbx_copy`.

fn main() -> std::process::ExitCode {
    huon_cli::alias::copy()
}
