//! Which thread calls, without a call where the processor tells.

/// The address of the calling thread's control block, or of what else no other running thread has.
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
#[inline(always)]
pub(crate) fn pointer() -> usize {
    let pointer;
    // SAFETY: the first word of a control block is its own address (ELF Handling For Thread-Local
    // Storage, 3.4.6).
    unsafe {
        std::arch::asm!(
            "mov {}, qword ptr fs:[0]",
            out(reg) pointer,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    pointer
}

/// The same.
#[cfg(all(target_os = "linux", target_arch = "aarch64", not(miri)))]
#[inline(always)]
pub(crate) fn pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!(
            "mrs {}, tpidr_el0",
            out(reg) pointer,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    pointer
}

/// The same.
#[cfg(not(all(
    target_os = "linux",
    any(all(target_arch = "x86_64", target_pointer_width = "64"), target_arch = "aarch64"),
    not(miri)
)))]
#[inline(always)]
pub(crate) fn pointer() -> usize {
    thread_local! {
        static HERE: std::cell::Cell<u8> = const { std::cell::Cell::new(0) };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}
