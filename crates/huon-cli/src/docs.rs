//! `docs/TOOLS.md`, whose tables are those that the tools themselves print as help.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};

use crate::{alias, args};

/// Tables begin behind this line.
const MARK: &str = "<!-- From here on `HUON_WRITE=1 cargo test -p huon-cli docs` writes it. -->\n";

/// A table for each command and tool.
fn tables() -> String {
    let mut text = String::new();
    for command in args::Args::command().get_subcommands() {
        let name = format!("huon {}", command.get_name());
        if command.has_subcommands() {
            for inner in command.get_subcommands() {
                table(&mut text, &format!("{name} {}", inner.get_name()), inner);
            }
        } else {
            table(&mut text, &name, command);
        }
    }
    for command in alias::commands() {
        table(&mut text, command.get_name(), &command);
    }
    text
}

fn table(text: &mut String, name: &str, command: &Command) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = write!(text, "\n## {name}\n\n{about}.\n\n| | |\n|---|---|\n");
    // What has a place comes first, as it is typed.
    for arg in command.get_arguments().filter(|arg| arg.is_positional()) {
        let name = &arg.get_value_names().unwrap_or_default()[0];
        let shown = if arg.is_required_set() { name.to_string() } else { format!("[{name}]") };
        row(text, &format!("`{shown}`"), arg);
    }
    for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
        if matches!(arg.get_id().as_str(), "help" | "version") {
            continue;
        }
        let value = match arg.get_value_names() {
            Some([name, ..]) if arg.get_action().takes_values() => format!(" {name}"),
            _ => String::new(),
        };
        let short = arg.get_short().map(|short| format!("`-{short}{value}`"));
        let long = arg.get_long().map(|long| format!("`--{long}{value}`"));
        let names: Vec<String> = short.into_iter().chain(long).collect();
        row(text, &names.join(", "), arg);
    }
}

fn row(text: &mut String, names: &str, arg: &Arg) {
    let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = if arg.get_action().takes_values() {
        arg.get_possible_values().iter().map(|value| value.get_name().into()).collect()
    } else {
        Vec::new()
    };
    if !values.is_empty() {
        let _ = write!(help, " [{}]", values.join(", "));
    }
    if let [default] = arg.get_default_values()
        && arg.get_action().takes_values()
        && !arg.is_hide_default_value_set()
    {
        let _ = write!(help, " [default: {}]", default.to_string_lossy());
    }
    let _ = writeln!(text, "| {names} | {} |", help.replace('|', "\\|"));
}

#[test]
fn docs_list_every_tool_and_flag() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TOOLS.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, written) = text.split_once(MARK).expect("the mark is there");
    if std::env::var_os("HUON_WRITE").is_some() {
        std::fs::write(&path, format!("{head}{MARK}{}", tables())).unwrap();
    } else if written != tables() {
        panic!("docs/TOOLS.md is not what the tools say: {}", MARK.trim());
    }
}
