//! Help, completions and manual pages.

use std::process::Command;

use crate::common::Place;

#[test]
fn help_is_there_by_name() {
    let place = Place::new();
    let help = place.good(&["help", "get"]);
    assert!(help.contains("Examples:\n  huon get"), "{help}");
    assert_eq!(place.good(&["get", "--help"]), help);
    assert_eq!(place.run(&["help", "nonsense"]).code, 2);
    // Each command shows how it is used.
    let all = place.good(&["help"]);
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<_> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split(' ').next()
        })
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        assert!(place.good(&["help", name]).contains("Examples:\n  huon "), "{name}");
    }
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn shells_read_the_completions() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        for program in ["huon", "huon_chk", "huon_dump"] {
            let script = place.good(&["completions", shell, program]);
            assert!(script.contains(program) && script.len() > 500, "{shell} {program}");
            if !is_installed(shell) {
                println!("skipped: {shell} is not installed, so nothing reads its script");
                continue;
            }
            let path = place.path(&format!("{program}.{shell}"));
            std::fs::write(&path, script).unwrap();
            let read = Command::new(shell).arg("-n").arg(&path).output().unwrap();
            assert!(read.status.success(), "{shell} {program}: {read:?}");
        }
    }
    if is_installed("bash") {
        let ask = "source huon.bash; COMP_WORDS=(huon che); COMP_CWORD=1; _huon huon che huon; \
                   echo \"${COMPREPLY[@]}\"";
        let said =
            Command::new("bash").args(["-c", ask]).current_dir(place.dir()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "check", "{said:?}");
    }
    place.run(&["completions", "bash", "ls"]).fails(2, &["huon_chk"]);
}

#[test]
fn there_is_a_page_for_every_command() {
    let place = Place::new();
    let page = place.good(&["man"]);
    assert!(page.contains(".TH huon 1") && page.contains("Exit codes"), "{page}");
    place.good(&["man", "."]);
    for name in ["huon", "huon-get", "huon-diff", "huon-switch-meta", "huon_chk", "huon_load"] {
        let page = std::fs::read_to_string(place.path(&format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{name}: {page}");
        if is_installed("man") {
            let mut man = Command::new("man");
            let said =
                man.args(["-l", "--warnings"]).arg(place.path(&format!("{name}.1"))).output();
            let said = said.unwrap();
            assert!(said.status.success() && said.stderr.is_empty(), "{name}: {said:?}");
        } else {
            println!("skipped: man is not installed, so nothing formats {name}.1");
        }
    }
    place.run(&["man", "none"]).fails(5, &["none"]);
}
