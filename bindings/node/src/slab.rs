//! Things that JavaScript knows by number.
//!
//! L1. A number is never used twice: it is a place, and the generation of what lay there. These
//!     begin at 1, so that 0 is never one.

use crate::failure::{Failure, Result};

/// Bits of a number that are its place. A generation takes 32 more, so that a number is exact as a
/// JavaScript number.
const PLACE_BITS: u32 = 20;

pub(crate) struct Slab<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<usize>,
    /// What to say of a number behind which there is nothing any more.
    gone: &'static str,
}

impl<T> Slab<T> {
    pub(crate) const fn new(gone: &'static str) -> Slab<T> {
        Slab { places: Vec::new(), free: Vec::new(), gone }
    }

    pub(crate) fn add(&mut self, item: T) -> Result<f64> {
        let at = self.free.pop().unwrap_or(self.places.len());
        if at == self.places.len() {
            if at >> PLACE_BITS != 0 {
                return Err(Failure::misuse("more than a million transactions are open"));
            }
            self.places.push((1, None));
        }
        let (generation, place) = &mut self.places[at];
        *place = Some(item);
        Ok((u64::from(*generation) << PLACE_BITS | at as u64) as f64)
    }

    /// Adds it, if there is anything: the halves of its number, which is 0 otherwise.
    pub(crate) fn halves_of(&mut self, item: Option<T>) -> Result<[u32; 2]> {
        let number = item.map_or(Ok(0.0), |item| self.add(item))? as u64;
        Ok([number as u32, (number >> 32) as u32])
    }

    #[inline]
    fn place(&mut self, number: f64) -> Option<(usize, &mut Option<T>)> {
        let number = number as u64;
        let at = (number & ((1 << PLACE_BITS) - 1)) as usize;
        let (generation, place) = self.places.get_mut(at)?;
        (u64::from(*generation) == number >> PLACE_BITS).then_some((at, place))
    }

    #[inline]
    pub(crate) fn get(&mut self, number: f64) -> Result<&mut T> {
        let gone = self.gone;
        let found = self.place(number).and_then(|(_, place)| place.as_mut());
        found.ok_or_else(|| Failure::misuse(gone))
    }

    pub(crate) fn take(&mut self, number: f64) -> Result<T> {
        let gone = self.gone;
        let found = self.place(number).and_then(|(at, place)| Some((at, place.take()?)));
        let (at, item) = found.ok_or_else(|| Failure::misuse(gone))?;
        self.vacate(at);
        Ok(item)
    }

    /// Takes out all that `is_doomed`.
    pub(crate) fn sweep(&mut self, is_doomed: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for at in 0..self.places.len() {
            if let Some(item) = self.places[at].1.take_if(|item| is_doomed(item)) {
                taken.push(item);
                self.vacate(at);
            }
        }
        taken
    }

    /// A place of which all generations were used is never used again (L1).
    fn vacate(&mut self, at: usize) {
        if let Some(next) = self.places[at].0.checked_add(1) {
            self.places[at].0 = next;
            self.free.push(at);
        }
    }
}
