package huon;

import static huon.Codes.EXISTS;
import static huon.Codes.NOT_FOUND;
import static huon.Codes.done;
import static huon.Codes.found;
import static huon.Codes.is;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * A write-optimised table. It belongs to no transaction: each call names one of its environment.
 * All threads may use it. Views are as those of a {@link Table}.
 */
public final class LsmTable implements AutoCloseable {
    private static final Struct STAT =
            Struct.of("huon_lsm_stat")
                    .u64("runs")
                    .u64("records")
                    .u64("tombstones")
                    .u64("bytes")
                    .u64("filter_bytes")
                    .u64("debt_bytes")
                    .u64("total_put_bytes")
                    .u64("total_merged_bytes")
                    .u64("stalls")
                    .end();

    /** It is kept open as long as its tables are used. */
    private final Lsm lsm;

    private final String name;
    private final Lsm.Handle handle;
    private final Cleaner.Cleanable cleanable;

    LsmTable(Lsm lsm, String name, long open) {
        this.lsm = lsm;
        this.name = name;
        handle = new Lsm.Handle(lsm.env(), NativeLsm.TABLE_CLOSE, open);
        cleanable = Core.clean(this, handle);
    }

    /** Its name. */
    public String name() {
        return name;
    }

    private void exit(Txn txn) {
        Reference.reachabilityFence(this);
        Reference.reachabilityFence(lsm);
        txn.exit();
    }

    /** A copy of the value of a key, or null. Costs a lookup in each run whose filter passes it. */
    public byte[] get(Txn txn, byte[] key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            return found(call(NativeLsm.GET, core.handle, handle.get(), k, room.out))
                    ? room.copied()
                    : null;
        } finally {
            exit(txn);
        }
    }

    /** The value of a key where it lies, or null. */
    public MemorySegment view(Txn txn, byte[] key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            return found(call(NativeLsm.GET, core.handle, handle.get(), k, room.out))
                    ? room.shown(core.memory())
                    : null;
        } finally {
            exit(txn);
        }
    }

    /** Stores a value under a key, without looking whether it has one. */
    public void put(WriteTxn txn, byte[] key, byte[] value) {
        change(NativeLsm.PUT, txn, key, value, Codes.OK);
    }

    /** The same for a value that is absent from a time on. */
    public void putUntil(WriteTxn txn, byte[] key, byte[] value, Instant until) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            MemorySegment v = room.value(value);
            long at = Clock.unixMillis(until);
            done(call(NativeLsm.PUT_UNTIL, core.handle, handle.get(), k, v, at));
        } finally {
            exit(txn);
        }
    }

    /** Stores a value under a key that has none, which takes a lookup; false if it has one. */
    public boolean putIfAbsent(WriteTxn txn, byte[] key, byte[] value) {
        return change(NativeLsm.PUT_IF_ABSENT, txn, key, value, EXISTS);
    }

    /** Stores a value under a key that has one, which takes a lookup; false if it has none. */
    public boolean update(WriteTxn txn, byte[] key, byte[] value) {
        return change(NativeLsm.UPDATE, txn, key, value, NOT_FOUND);
    }

    private boolean change(MethodHandle how, WriteTxn txn, byte[] key, byte[] value, int unless) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            MemorySegment v = room.value(value);
            return is(call(how, core.handle, handle.get(), k, v), unless);
        } finally {
            exit(txn);
        }
    }

    /** Deletes a key, without looking whether it is there. */
    public void delete(WriteTxn txn, byte[] key) {
        Core core = txn.enterToChange();
        try {
            done(call(NativeLsm.DELETE, core.handle, handle.get(), core.room.key(key)));
        } finally {
            exit(txn);
        }
    }

    /** Deletes all keys of a range; costs as much as one delete. */
    public void deleteRange(WriteTxn txn, KeyRange range) {
        Core core = txn.enterToChange();
        try {
            MemorySegment r = core.room.range(range);
            done(call(NativeLsm.DELETE_RANGE, core.handle, handle.get(), r));
        } finally {
            exit(txn);
        }
    }

    /** Deletes all records. */
    public void clear(WriteTxn txn) {
        all(NativeLsm.CLEAR, txn);
    }

    /** Deletes the table. This object stays good, and makes it anew with the next put. */
    public void drop(WriteTxn txn) {
        all(NativeLsm.DROP, txn);
    }

    private void all(MethodHandle how, WriteTxn txn) {
        Core core = txn.enterToChange();
        try {
            done(call(how, core.handle, handle.get()));
        } finally {
            exit(txn);
        }
    }

    /** All records, in order. */
    public Entries entries(Txn txn) {
        return range(txn, KeyRange.all());
    }

    /** The records of a range. */
    public Entries range(Txn txn, KeyRange range) {
        return new Entries(txn, range.isReversed, core -> open(core, range));
    }

    private long open(Core core, KeyRange range) {
        try {
            Room room = core.room;
            MemorySegment r = room.range(range);
            done(call(NativeLsm.CURSOR_OPEN, core.handle, handle.get(), r, room.number));
            return room.answer();
        } finally {
            Reference.reachabilityFence(this);
            Reference.reachabilityFence(lsm);
        }
    }

    /** What it consists of, and what it has cost. */
    public LsmStat stat(Txn txn) {
        Core core = txn.enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stat = arena.allocate(STAT.layout());
            done(call(NativeLsm.GET_STAT, core.handle, handle.get(), stat, STAT.bytes()));
            return new LsmStat(
                    STAT.u64(stat, "runs"),
                    STAT.u64(stat, "records"),
                    STAT.u64(stat, "tombstones"),
                    STAT.u64(stat, "bytes"),
                    STAT.u64(stat, "filter_bytes"),
                    STAT.u64(stat, "debt_bytes"),
                    STAT.u64(stat, "total_put_bytes"),
                    STAT.u64(stat, "total_merged_bytes"),
                    STAT.u64(stat, "stalls"));
        } finally {
            exit(txn);
        }
    }

    /** Reads every run; a sentence for each problem. */
    public List<String> check(Txn txn) {
        List<String> problems = new ArrayList<>();
        Core core = txn.enter();
        try (Callbacks callbacks = new Callbacks()) {
            MemorySegment heard = callbacks.problems(problems::add);
            MemorySegment none = MemorySegment.NULL;
            MemorySegment count = core.room.number;
            callbacks.done(
                    call(NativeLsm.CHECK, core.handle, handle.get(), heard, none, count));
            return problems;
        } finally {
            exit(txn);
        }
    }

    /** Gives it back; its records stay. */
    @Override
    public void close() {
        cleanable.clean();
    }
}
