//! The command `huon_chk`, with the flags of `mdbx_chk`.

fn main() -> std::process::ExitCode {
    huon_cli::alias::chk()
}
