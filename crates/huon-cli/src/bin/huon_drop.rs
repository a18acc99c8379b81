//! The command `huon_drop`, with the flags of `mdbx_drop`.

fn main() -> std::process::ExitCode {
    huon_cli::alias::drop()
}
