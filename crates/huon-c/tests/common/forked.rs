//! A forked child that says what went wrong in it: for the tests of both libraries.

/// Runs `work` in a forked child, in which all that it says must be so.
pub(crate) fn in_child(work: impl FnOnce() -> Vec<bool>) {
    // SAFETY: the child only runs the work and ends; the C library lets a child of many threads
    // allocate.
    match unsafe { libc::fork() } {
        0 => {
            let wrong = work().iter().position(|so| !so).map_or(0, |at| at as i32 + 1);
            // SAFETY: ends the child without what the parent has to clear away.
            unsafe { libc::_exit(wrong) };
        }
        child => {
            let mut status = 0;
            // SAFETY: the pointer is good for writing.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "number {} of what the child says", libc::WEXITSTATUS(status));
        }
    }
}
