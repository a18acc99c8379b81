//! The command `huon_stat`, with the flags of `mdbx_stat`.

fn main() -> std::process::ExitCode {
    huon_cli::alias::stat()
}
