package huon;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The queue of an environment's writers. They wait here, where a virtual thread gives up its
 * carrier and an interrupt is heard; in the library waits the first of them alone, for writers of
 * other processes, and looks up now and then.
 */
final class Writers {
    private static final long SLICE_MS = 250;

    private final Semaphore turn = new Semaphore(1, true);
    private volatile Thread writer;

    /** Begins a write transaction within that time. */
    Core begin(Env env, Duration wait) {
        if (writer == Thread.currentThread()) {
            throw busy("this thread has the write transaction already: end it first");
        }
        long end = System.nanoTime() + Clock.nanos(wait);
        try {
            if (!turn.tryAcquire(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS)) {
                Thread other = writer;
                throw busy(
                        "another thread has the write transaction"
                                + (other == null ? "" : ": " + other.getName()));
            }
        } catch (InterruptedException e) {
            throw interrupted();
        }
        Core core = null;
        try {
            core = first(env, end);
            writer = Thread.currentThread();
            return core;
        } finally {
            if (core == null) {
                turn.release();
            }
        }
    }

    private static Core first(Env env, long end) {
        while (true) {
            long left = Clock.millisUntil(end);
            try {
                return Core.writing(env, Math.min(left, SLICE_MS));
            } catch (HuonException.Busy e) {
                if (left <= SLICE_MS || e.kind() != HuonException.Kind.BUSY) {
                    throw e;
                }
            }
            if (Thread.currentThread().isInterrupted()) {
                throw interrupted();
            }
        }
    }

    void ended() {
        writer = null;
        turn.release();
    }

    private static HuonException.Busy busy(String message) {
        return new HuonException.Busy(HuonException.Kind.BUSY, message);
    }

    /** The thread stays interrupted. */
    private static HuonException.Busy interrupted() {
        Thread.currentThread().interrupt();
        return busy("interrupted while waiting for the write transaction");
    }
}
