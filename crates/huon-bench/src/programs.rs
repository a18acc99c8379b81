//! Which engines can be run here, and by which program. Those in Rust or C are in this one; bbolt
//! has a program of its own, in Go, which takes the same arguments and writes the same lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engine::{ENGINES, Result};

/// An engine, and the program that runs its workloads or why there is none.
pub(crate) struct Program {
    pub(crate) engine: &'static str,
    pub(crate) path: std::result::Result<PathBuf, String>,
}

/// All engines. What must be built for them goes to `out`.
pub(crate) fn programs(out: &Path) -> Result<Vec<Program>> {
    let this = std::env::current_exe()?;
    let mut programs: Vec<Program> = ENGINES
        .iter()
        .map(|engine| Program {
            engine: engine.name,
            path: match engine.absent {
                None => Ok(this.clone()),
                Some(reason) => Err(reason.to_owned()),
            },
        })
        .collect();
    // Floors stand last.
    let place = programs.iter().position(|program| program.engine == "null").unwrap_or(0);
    programs.insert(place, Program { engine: "bbolt", path: bbolt(out) });
    Ok(programs)
}

/// Builds the program for bbolt.
fn bbolt(out: &Path) -> std::result::Result<PathBuf, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("bbolt");
    if !sources.join("go.mod").exists() {
        return Err("its program is not part of these sources".to_owned());
    }
    let program = std::path::absolute(out.join("bbolt-bench")).map_err(|e| e.to_string())?;
    let mut go = Command::new("go");
    let output = go.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources).output();
    match output {
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("go build: {}", said.trim().lines().last().unwrap_or_default()))
        }
        Err(e) => Err(format!("go: {e}")),
    }
}
