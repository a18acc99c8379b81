//! Makes a failing program shorter: leaves parts of it out for as long as it still fails (the
//! delta debugging of Zeller and Hildebrandt, 2002).

use std::time::{Duration, Instant};

use crate::history::Failure;

/// A program of operations, any part of which is a program, too.
pub trait Program: Clone {
    /// An operation.
    type Op;

    /// All of them.
    fn ops(&mut self) -> &mut Vec<Self::Op>;
}

/// A shorter program that fails too, and how.
pub fn shrink<P: Program, R>(
    program: &P,
    failure: Failure,
    time: Duration,
    mut run: impl FnMut(&P) -> Result<R, Failure>,
) -> (P, Failure) {
    let start = Instant::now();
    let mut best = program.clone();
    best.ops().truncate(failure.at + 1);
    let mut how = match run(&best) {
        Err(failure) => failure,
        Ok(_) => return (program.clone(), failure),
    };
    let mut part = best.ops().len().div_ceil(2);
    while part > 0 && start.elapsed() < time {
        let mut at = 0;
        let mut shorter = false;
        while at < best.ops().len() && start.elapsed() < time {
            let mut candidate = best.clone();
            candidate.ops().drain(at..(at + part).min(best.ops().len()));
            match run(&candidate) {
                Err(failure) => (best, how, shorter) = (candidate, failure, true),
                Ok(_) => at += part,
            }
        }
        if part == 1 && !shorter {
            break;
        }
        part = if part == 1 { 1 } else { part / 2 };
    }
    (best, how)
}
