//! The command `huon-demo`.

fn main() -> std::process::ExitCode {
    huon_cli::demo::main()
}
