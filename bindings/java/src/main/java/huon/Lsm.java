package huon;

import static huon.Codes.done;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * The write-optimised tables of an environment: puts in random order cost several times less than
 * in ordinary ones, and runs that are merged later make up for it. They are used in the same
 * transactions. All threads may use this.
 */
public final class Lsm implements AutoCloseable {
    /** What a compaction does. */
    public enum Work {
        /** Merges what is due. */
        DUE,
        /** Merges all runs of each table into one. */
        ALL,
        /** Makes the file shorter. */
        SHORTEN
    }

    /** A handle of the library that is given back once. */
    static final class Handle implements Runnable {
        private final MethodHandle close;
        /** The function for slow readers, which threads that compact call until they have ended. */
        private final MemorySegment slow;
        private long open;
        private int answer;

        Handle(Env env, MethodHandle close, long open) {
            slow = env.slow();
            this.close = close;
            this.open = open;
        }

        synchronized long get() {
            if (open == 0) {
                throw new IllegalStateException("the write-optimised tables are closed");
            }
            return open;
        }

        @Override
        public synchronized void run() {
            if (open != 0) {
                answer = call(close, open);
                open = 0;
                Reference.reachabilityFence(slow);
            }
        }
    }

    private final Env env;
    private final Handle handle;
    private final Cleaner.Cleanable cleanable;

    Lsm(Env env, LsmOptions options) {
        this.env = env;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(Native.LONG);
            done(call(NativeLsm.OPEN, env.handle(), options.made(arena), number));
            handle = new Handle(env, NativeLsm.CLOSE, number.get(Native.LONG, 0));
        }
        cleanable = Core.clean(this, handle);
    }

    /** The environment. */
    public Env env() {
        return env;
    }

    /** The table of that name, whether it exists or not: it is made by the first put. */
    public LsmTable table(String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(Native.LONG);
            MemorySegment none = MemorySegment.NULL;
            MemorySegment bytes = Native.bytes(arena, name);
            done(call(NativeLsm.TABLE_OPEN, handle.get(), bytes, none, number));
            return new LsmTable(this, name, number.get(Native.LONG, 0));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Merges runs in this thread, of all tables. Others read and write meanwhile. */
    public void compact(Work work) {
        compact("", work);
    }

    /** The same of the table of that name. */
    public void compact(String name, Work work) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = Native.bytes(arena, name);
            done(call(NativeLsm.COMPACT, handle.get(), bytes, work.ordinal()));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Starts threads that merge what is due, until what this returns is closed, or was forgotten
     * together with the environment.
     */
    public Compactor startCompactor() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(Native.LONG);
            done(call(NativeLsm.COMPACTOR_START, handle.get(), number));
            return new Compactor(env, number.get(Native.LONG, 0));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Threads that merge runs. */
    public static final class Compactor implements AutoCloseable {
        private final Env env;
        private final Handle handle;
        private final Cleaner.Cleanable cleanable;

        private Compactor(Env env, long open) {
            this.env = env;
            handle = new Handle(env, NativeLsm.COMPACTOR_STOP, open);
            cleanable = Core.clean(this, handle);
            env.working().add(this);
        }

        /** Ends the threads, and waits for them. What went wrong in them is thrown here. */
        @Override
        public void close() {
            env.working().remove(this);
            cleanable.clean();
            int answer = handle.answer;
            handle.answer = Codes.OK;
            done(answer);
        }
    }

    /** Gives it back. Its tables stay good until they are closed. */
    @Override
    public void close() {
        cleanable.clean();
    }
}
