package huon;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The queue of an environment's writers. They wait here, where a virtual thread gives up its
 * carrier and an interrupt is heard; in the library waits the first of them alone, for writers of
 * other processes, and looks up now and then.
 */
final class Writers {
    private static final long SLICE_MS = 250;

    /** So long it takes the library to see that a thread waits for itself: 500 ms of one wait. */
    private static final long SELF_MS = 600;

    private final Semaphore turn = new Semaphore(1, true);
    private volatile Thread writer;
    /** That of its transaction. To refer to the transaction would keep a forgotten one. */
    private Room room;

    /** Begins a write transaction within that time. */
    Core begin(Env env, Duration wait) {
        long end = enter(wait);
        Core core = null;
        try {
            core = first(env, end);
            room = core.room;
            writer = Thread.currentThread();
            return core;
        } finally {
            if (core == null) {
                turn.release();
            }
        }
    }

    /**
     * Does what is a write transaction of its own in the library. There it waits for writers of
     * other processes, and hears of no interrupt.
     */
    <R> R alone(Duration wait, Supplier<R> work) {
        long end = enter(wait);
        writer = Thread.currentThread();
        try {
            while (true) {
                try {
                    return work.get();
                } catch (HuonException.Busy e) {
                    // A virtual thread was taken for the one that its carrier was before.
                    boolean isItself = e.kind() == HuonException.Kind.THREAD_WRITES;
                    if (!isItself || !writer.isVirtual() || System.nanoTime() - end >= 0) {
                        throw e;
                    }
                }
                if (writer.isInterrupted()) {
                    throw interrupted();
                }
            }
        } finally {
            ended();
        }
    }

    /** Waits for the turn; the time by which the rest is to be done. */
    private long enter(Duration wait) {
        if (writer == Thread.currentThread()) {
            throw busy("this thread has the write transaction already: end it first");
        }
        long end = System.nanoTime() + Clock.nanos(wait);
        if (turn.hasQueuedThreads() || !turn.tryAcquire()) {
            await(end);
        }
        return end;
    }

    private void await(long end) {
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
    }

    /**
     * To the library a virtual thread is its carrier, which may have been another writer's: it
     * never waits for so long that it would be taken for that one.
     */
    private static Core first(Env env, long end) {
        long slice = Thread.currentThread().isVirtual() ? SLICE_MS : SELF_MS;
        while (true) {
            long left = Clock.millisUntil(end);
            try {
                return Core.writing(env, Math.min(left, slice));
            } catch (HuonException.Busy e) {
                if (left <= slice || e.kind() != HuonException.Kind.BUSY) {
                    throw e;
                }
            }
            if (Thread.currentThread().isInterrupted()) {
                throw interrupted();
            }
        }
    }

    /** Of the transaction that this thread writes in, or null. */
    Room ownRoom() {
        return writer == Thread.currentThread() ? room : null;
    }

    void ended() {
        writer = null;
        room = null;
        turn.release();
    }

    private static HuonException.Busy busy(String message) {
        return new HuonException.Busy(HuonException.Kind.BUSY, message);
    }

    /** The thread stays interrupted. */
    private static HuonException.Busy interrupted() {
        Thread.currentThread().interrupt();
        return new HuonException.Interrupted();
    }
}
