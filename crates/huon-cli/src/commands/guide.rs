//! What helps with the command line: `completions`, `man`.

use std::io::Write;
use std::path::Path;

use clap::{Command, CommandFactory};

use crate::alias;
use crate::args::{Args, Completions, Man};
use crate::fail::{Code, Failure, Outcome};
use crate::out::Out;

/// `huon`, and the tools that have other names.
fn programs() -> Vec<Command> {
    let mut programs = vec![Args::command()];
    programs.extend(alias::commands());
    programs
}

/// `huon completions`.
pub(crate) fn completions(args: &Completions) -> Outcome {
    let found = programs().into_iter().find(|program| program.get_name() == args.program);
    let Some(mut program) = found else {
        let names: Vec<String> = programs().iter().map(|it| it.get_name().to_owned()).collect();
        let (name, names) = (&args.program, names.join(", "));
        return Err(Failure::usage(format!("no program is called \"{name}\"; there are {names}.")));
    };
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, &args.program, &mut script);
    print(&script)
}

/// `huon man`.
pub(crate) fn man(args: &Man) -> Outcome {
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Args::command()).render(&mut page)?;
        return print(&page);
    };
    for program in programs() {
        write(program, directory).map_err(|error| {
            Failure::io(&format!("cannot write pages to {}", directory.display()), &error)
        })?;
    }
    Ok(Code::Fine)
}

/// The pages of a program and its commands, without those of `help`, which says the same.
fn write(program: Command, directory: &Path) -> std::io::Result<()> {
    clap_mangen::generate_to(program.disable_help_subcommand(true), directory)
}

fn print(text: &[u8]) -> Outcome {
    let mut out = Out::new();
    out.write_all(text)?;
    out.finish()?;
    Ok(Code::Fine)
}
