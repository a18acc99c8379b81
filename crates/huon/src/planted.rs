//! Planted bugs: rules of the protocol that can be left out, to show that the tests notice.
//!
//! Only with the feature `planted`, and then only the bug that the environment variable
//! `HUON_PLANTED` numbers; without it every question is answered `false` at compile time. `cargo
//! xtask planted` runs the tests, which know nothing of this, against each:
//!
//! | no. | what is left out |
//! |---|---|
//! | 1 | the first flush of a two-flush commit |
//! | 2 | the flush of the meta |
//! | 3 | the order of the two: the meta is written before the pages are flushed |
//! | 4 | the durable snapshot among the protected ones |
//! | 5 | the last snapshot before a page was freed, in judging the page (off by one) |
//! | 6 | the last eight bytes of a page in its checksum |
//! | 7 | the birth in comparing a page with its pointer |
//! | 8 | the checksum in judging a meta |
//! | 9 | the poisoning after a failed flush: it is tried again |
//! | 10 | one item of the free space, in each commit that has many |

/// Whether bug `number` is planted.
#[cfg(feature = "planted")]
pub(crate) fn is(number: u32) -> bool {
    use std::sync::OnceLock;
    static PLANTED: OnceLock<u32> = OnceLock::new();
    let planted = PLANTED.get_or_init(|| {
        let named = std::env::var("HUON_PLANTED").ok();
        named.and_then(|number| number.parse().ok()).unwrap_or(0)
    });
    *planted == number
}

/// Whether bug `number` is planted.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn is(_: u32) -> bool {
    false
}
