//! Bytes that are copied into the same memory again and again.

use crate::alloc::{Reserved, filled};

/// Bytes of which each set takes the place of the one before.
#[derive(Clone, Default)]
pub(super) struct Kept {
    /// All of it was written once, so that a set is no more than a copy.
    room: Vec<u8>,
    count: usize,
}

impl Kept {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.room[..self.count]
    }

    /// Keeps these bytes. Allocates where there were never so many.
    #[inline(always)]
    pub(super) fn set(&mut self, bytes: &[u8]) -> Reserved<()> {
        let Some(place) = self.room.get_mut(..bytes.len()) else { return self.grow(bytes) };
        self.count = bytes.len();
        match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            // Most keys: without a call.
            (Some(first), Some(last)) if bytes.len() <= 16 => {
                let end = place.len() - last.len();
                place[..first.len()].copy_from_slice(first);
                place[end..].copy_from_slice(last);
            }
            _ => place.copy_from_slice(bytes),
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bytes: &[u8]) -> Reserved<()> {
        let mut room = filled(0, bytes.len().next_power_of_two())?;
        room[..bytes.len()].copy_from_slice(bytes);
        (self.room, self.count) = (room, bytes.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_last_is_kept() {
        let bytes: Vec<u8> = (1..=100).collect();
        let mut kept = Kept::default();
        assert!(kept.bytes().is_empty());
        for count in (0..=100).chain((0..=100).rev()) {
            let some = &bytes[100 - count..];
            kept.set(some).unwrap();
            assert_eq!(kept.bytes(), some);
            assert_eq!(kept.clone().bytes(), some);
        }
        assert_eq!(kept.room.len(), 128, "there is room for the longest still");
    }
}
