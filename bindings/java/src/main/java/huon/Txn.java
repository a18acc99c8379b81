package huon;

import static huon.Codes.done;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A transaction: one snapshot of all tables. Close it, best by try-with-resources: as long as it
 * is open, the file keeps what it sees. One that is forgotten is aborted by the garbage collector,
 * with a warning to the logger {@code huon}.
 *
 * <p>Only the thread that began it may use it, be it a virtual one, and others get a
 * {@link WrongThreadException}; {@link Env#readShared} is for all threads. After its end, whatever
 * belongs to it throws {@link IllegalStateException}.
 */
public abstract sealed class Txn implements AutoCloseable permits ReadTxn, WriteTxn {
    private static final Struct INFO =
            Struct.of("huon_txn_info")
                    .u64("id")
                    .u64("ids_behind")
                    .u64("used_bytes")
                    .u64("dirty_bytes")
                    .u64("written_bytes")
                    .u64("retired_bytes")
                    .end();

    /** What it works with. */
    final Core core;

    private final Thread thread;
    /** The thread that may use it now; null: none, or any with the core's lock. */
    Thread owner;

    /** Why it cannot be used, where it has not ended. */
    String blocked;

    Txn(Core core) {
        this.core = core;
        thread = Thread.currentThread();
        owner = core.lock == null ? thread : null;
    }

    /** What a call works with, which must {@link #exit} in the end. */
    final Core enter() {
        if (owner != Thread.currentThread()) {
            enterElse();
        }
        return core;
    }

    private void enterElse() {
        if (core.lock != null) {
            core.lock.lock();
            if (core.handle != 0 && blocked == null) {
                return;
            }
            core.lock.unlock();
        } else {
            checkThread();
        }
        throw new IllegalStateException(blocked != null ? blocked : "the transaction has ended");
    }

    final void checkThread() {
        if (thread != Thread.currentThread()) {
            throw new WrongThreadException(
                    "the transaction is of another thread: begin one here, or use readShared()");
        }
    }

    /** The same for a call that changes something: what was shown goes. */
    final Core enterToChange() {
        Core core = enter();
        core.changes();
        return core;
    }

    final void exit() {
        Reference.reachabilityFence(this);
        if (core.lock != null) {
            core.lock.unlock();
        }
    }

    /** Whether it can be used; false after its end, and while a nested one is open. */
    public boolean isOpen() {
        return core.lock != null ? core.handle != 0 : owner != null;
    }

    /** The environment. */
    public Env env() {
        return core.env;
    }

    /** Of the snapshot that it reads, or of the one that its commit would make at this moment. */
    public long id() {
        Core core = enter();
        try {
            done(call(Native.TXN_ID, core.handle, core.room.number));
            return core.room.answer();
        } finally {
            exit();
        }
    }

    /** What it has cost so far. */
    public TxnInfo info() {
        Core core = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = arena.allocate(INFO.layout());
            done(call(Native.GET_TXN_INFO, core.handle, info, INFO.bytes()));
            return new TxnInfo(
                    INFO.u64(info, "id"),
                    INFO.u64(info, "ids_behind"),
                    INFO.u64(info, "used_bytes"),
                    INFO.u64(info, "dirty_bytes"),
                    INFO.u64(info, "written_bytes"),
                    INFO.u64(info, "retired_bytes"));
        } finally {
            exit();
        }
    }

    /** The names of all named tables, in order. */
    public List<String> tables() {
        Core core = enter();
        try {
            MemorySegment names = MemorySegment.NULL;
            long room = 0;
            while (true) {
                done(call(Native.TABLE_NAMES, core.handle, names, room, core.room.number));
                long count = core.room.answer();
                if (count <= room) {
                    return names(names, count);
                }
                room = count;
                names = core.room.first(16 * count);
            }
        } finally {
            exit();
        }
    }

    private static List<String> names(MemorySegment names, long count) {
        List<String> texts = new ArrayList<>();
        for (long at = 0; at < 16 * count; at += 16) {
            byte[] name = Room.copy(names.get(Native.LONG, at), names.get(Native.LONG, at + 8));
            texts.add(new String(name, StandardCharsets.UTF_8));
        }
        return texts;
    }

    /** Whether there is a table of that name, of either kind. */
    public boolean hasTable(String name) {
        return Tables.stat(this, name) != null;
    }

    /**
     * The table of that name; the empty name is that of the main table, which always exists.
     *
     * @throws HuonException.TableNotFound if there is none
     */
    public Table table(String name) {
        return table(name, null);
    }

    /** The same, of a table that was created with these options, or {@code null}. */
    public Table table(String name, TableOptions with) {
        return new Table(this, name, Tables.open(this, Native.TABLE_OPEN, name, with));
    }

    /**
     * The multimap of that name.
     *
     * @throws HuonException.TableNotFound if there is none
     */
    public Multimap multimap(String name) {
        return multimap(name, null);
    }

    /** The same, of a multimap that was created with these options, or {@code null}. */
    public Multimap multimap(String name, TableOptions with) {
        return new Multimap(this, name, Tables.open(this, Native.MULTI_OPEN, name, with));
    }

    /** The three numbers that a program may keep with its snapshots. */
    public long[] markers() {
        Core core = enter();
        try {
            MemorySegment markers = core.room.first(24);
            done(call(Native.MARKERS, core.handle, markers));
            return markers.toArray(Native.LONG);
        } finally {
            exit();
        }
    }

    /** Ends it; undoes what was not committed. Does nothing the second time. */
    @Override
    public abstract void close();
}
