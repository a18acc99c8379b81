package huon;

import static huon.Codes.TIMED_OUT;
import static huon.Codes.done;
import static huon.Codes.is;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;

/** A commit whose durability can be waited for, in any thread. */
public final class Ticket implements AutoCloseable {
    private static final long SLICE_MS = 250;

    private final Handle handle;
    private final Cleaner.Cleanable cleanable;
    private final long id;

    private static final class Handle implements Runnable {
        private volatile long open;

        @Override
        public void run() {
            long ticket = open;
            open = 0;
            call(Native.TICKET_FREE, ticket);
        }
    }

    Ticket(long ticket) {
        handle = new Handle();
        handle.open = ticket;
        cleanable = Core.clean(this, handle);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(Native.LONG);
            done(call(Native.TICKET_ID, ticket, number));
            id = number.get(Native.LONG, 0);
        }
    }

    /** The id of the snapshot that the commit made. */
    public long id() {
        return id;
    }

    /** Whether no power loss can take the commit away any more. */
    public boolean isDurable() {
        return await(0);
    }

    /**
     * Waits until no power loss can take the commit away.
     *
     * @throws InterruptedException if the thread is interrupted, at latest a moment later
     */
    public void await() throws InterruptedException {
        while (!await(SLICE_MS)) {
            interrupted();
        }
    }

    /**
     * The same for at most so long; false if that was too short. A wait in which no other commit
     * flushes flushes itself.
     */
    public boolean await(Duration atMost) throws InterruptedException {
        long end = System.nanoTime() + Clock.nanos(atMost);
        while (true) {
            long left = Clock.millisUntil(end);
            if (await(Math.min(left, SLICE_MS))) {
                return true;
            }
            if (left <= 0) {
                return false;
            }
            interrupted();
        }
    }

    private static void interrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    private boolean await(long millis) {
        try {
            long ticket = handle.open;
            if (ticket == 0) {
                throw new IllegalStateException("the ticket is closed");
            }
            return is(call(Native.TICKET_WAIT, ticket, millis), TIMED_OUT);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Gives it back; the commit stays as it is. Forgotten ones are given back too. */
    @Override
    public void close() {
        cleanable.clean();
    }
}
