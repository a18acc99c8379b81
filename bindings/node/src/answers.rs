//! What other threads answer, as values of JavaScript.

use napi::sys::napi_value;

use crate::change::Answered;
use crate::failure::{Failure, Result};
use crate::jobs::Answer;
use crate::raw::{Caller, NOTHING};
use crate::state::{self, Seat};

impl Answer {
    pub(crate) fn value(self, caller: Caller) -> Result<napi_value> {
        Ok(match self {
            Answer::Nothing => caller.undefined(),
            Answer::Number(number) => caller.number(number),
            Answer::Changes(all) => caller.array_of(all.iter().map(|one| of_change(caller, one))),
            Answer::Text(text) => caller.text(&text),
            Answer::Bytes(bytes) => caller.buffer(&bytes)?,
            Answer::Progress(done, total) => {
                caller.array_of([done, total].into_iter().map(|number| caller.number(number)))
            }
            Answer::Seat(env, held, _) => state::with(|state| {
                state.env(env)?;
                let seat = state.seats.add(Seat { env, is_newest: false, held })?;
                Ok::<_, Failure>(caller.number(seat))
            })?,
        })
    }
}

/// A number, or, where it was refused, an array with code and sentence, and the table or NOTHING.
fn of_change(caller: Caller, answered: &Answered) -> napi_value {
    match answered {
        Ok(number) => caller.number(*number),
        Err((failure, table)) => {
            let table = caller.number(table.map_or(NOTHING, f64::from));
            let parts = [caller.text(failure.code), caller.text(&failure.text), table];
            caller.array_of(parts.into_iter())
        }
    }
}
