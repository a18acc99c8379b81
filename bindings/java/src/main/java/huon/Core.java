package huon;

import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What a transaction and those nested in it work with. One call at a time uses it: of the thread
 * that began it, or of the one that has the lock.
 *
 * <p>V1. A view is a part of {@link #memory}, whose arena is closed when what was shown may go: at
 * the end of the transaction, and before a change. So it throws from then on. V2. The arena refers
 * to the core: what can still be seen keeps a forgotten transaction from being cleaned up. V3. The
 * memory is read-only: a write to it would kill the process.
 */
final class Core {
    private static final Cleaner CLEANER = Cleaner.create();
    private static final System.Logger LOG = System.getLogger("huon");

    final Env env;
    final Room room;
    /** Of a transaction that all threads may use; else null. */
    final ReentrantLock lock;
    /** The handle of the library, 0 at the end. */
    long handle;

    private final End end;
    private final Cleaner.Cleanable cleanable;
    private Arena arena;
    private MemorySegment memory;
    /** Scans and cursors that hold records which the next change may move; null: none comes. */
    private final Listeners listeners;

    /** Does what is left to do for a transaction that was forgotten. It refers to none of it. */
    private static final class End implements Runnable {
        private final Env env;
        private final boolean writes;
        private volatile long handle;

        End(Env env, long handle, boolean writes) {
            this.env = env;
            this.handle = handle;
            this.writes = writes;
        }

        @Override
        public void run() {
            long forgotten = handle;
            if (forgotten != 0) {
                handle = 0;
                call(Native.ABORT, forgotten);
                if (writes) {
                    env.writerEnded();
                }
                LOG.log(
                        System.Logger.Level.WARNING,
                        "a transaction was never closed: use try-with-resources");
            }
        }
    }

    private Core(Env env, Room room, boolean writes, boolean isShared) {
        this.env = env;
        this.room = room;
        handle = room.answer();
        lock = isShared ? new ReentrantLock() : null;
        listeners = writes ? new Listeners() : null;
        end = new End(env, handle, writes);
        cleanable = CLEANER.register(this, end);
    }

    static Core reading(Env env, boolean isShared) {
        Room room = Room.take();
        int code = call(Native.BEGIN_READ, env.handle(), room.number);
        return begun(code, env, room, false, isShared);
    }

    static Core reading(Env env, String snapshot, boolean isShared) {
        Room room = Room.take();
        MemorySegment name = room.key(Huon.utf8(snapshot));
        int code = call(Native.BEGIN_READ_NAMED, env.handle(), name, room.number);
        if (code == Codes.NOT_FOUND) {
            room.give();
            throw new HuonException.SnapshotNotFound(snapshot);
        }
        return begun(code, env, room, false, isShared);
    }

    /** Waits for writers that are not of this environment, for so long. */
    static Core writing(Env env, long millis) {
        Room room = Room.take();
        int code = call(Native.BEGIN_WRITE, env.handle(), millis, room.number);
        return begun(code, env, room, true, false);
    }

    private static Core begun(int code, Env env, Room room, boolean writes, boolean isShared) {
        if (code != Codes.OK) {
            room.give();
            throw Codes.fail(code);
        }
        return new Core(env, room, writes, isShared);
    }

    /** Has something done when an object was forgotten, or before. */
    static Cleaner.Cleanable clean(Object object, Runnable end) {
        return CLEANER.register(object, end);
    }

    boolean writes() {
        return listeners != null;
    }

    /** The memory that views are parts of (V1). */
    MemorySegment memory() {
        MemorySegment now = memory;
        return now != null ? now : newMemory();
    }

    private MemorySegment newMemory() {
        arena = lock != null ? Arena.ofShared() : Arena.ofConfined();
        // The arena keeps what it does at its end, and that keeps the core (V2).
        MemorySegment all = MemorySegment.NULL;
        all = all.reinterpret(Long.MAX_VALUE, arena, it -> Reference.reachabilityFence(this));
        memory = all.asReadOnly();
        return memory;
    }

    /** Ends all views. Throws if one of them is in use by another call at this moment. */
    void forget() {
        if (memory != null) {
            arena.close();
            memory = null;
            arena = null;
        }
    }

    /** What has to do something before a change, once. */
    interface BeforeChange {
        void changes(Core core);
    }

    /** Loops and cursors. It keeps none that the caller has forgotten. */
    private static final class Listeners {
        private static final int FEW = 64;

        private final List<WeakReference<BeforeChange>> all = new ArrayList<>();
        /** So many are looked through for forgotten ones. */
        private int many = FEW;

        void add(BeforeChange listener) {
            if (all.size() >= many) {
                all.removeIf(one -> one.get() == null);
                many = Math.max(FEW, 2 * all.size());
            }
            all.add(new WeakReference<>(listener));
        }

        void tell(Core core) {
            for (WeakReference<BeforeChange> one : all) {
                BeforeChange listener = one.get();
                if (listener != null) {
                    listener.changes(core);
                }
            }
            all.clear();
        }
    }

    /** To be called before each change. In a read transaction the library refuses it. */
    void changes() {
        if (!writes()) {
            return;
        }
        if (!listeners.all.isEmpty()) {
            listeners.tell(this);
        }
        forget();
    }

    /** Has something done before the next change, if there can be one. */
    void beforeChange(BeforeChange listener) {
        if (writes()) {
            listeners.add(listener);
        }
    }

    /** The transaction ends: its handle, which is to be given back now. */
    long end() {
        forget();
        return handle;
    }

    /** The handle was given back. */
    void ended() {
        handle = 0;
        end.handle = 0;
        cleanable.clean();
        room.give();
        if (end.writes) {
            env.writerEnded();
        }
    }
}
