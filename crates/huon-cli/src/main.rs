//! The command `huon`.

fn main() -> std::process::ExitCode {
    huon_cli::main()
}
