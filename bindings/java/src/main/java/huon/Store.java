package huon;

import static huon.Codes.done;
import static huon.Codes.found;
import static huon.Native.call;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * What tables and multimaps have in common. It belongs to the transaction that opened it, and is
 * used in the thread of that.
 */
public abstract sealed class Store permits Table, Multimap {
    /** The functions of the library for one of the two kinds. */
    record Functions(
            MethodHandle drop,
            MethodHandle clear,
            MethodHandle rename,
            MethodHandle first,
            MethodHandle last,
            MethodHandle removeRange,
            MethodHandle count,
            MethodHandle estimate,
            MethodHandle cursor) {}

    final Txn txn;
    final MemorySegment words;
    private final String name;
    private final Functions functions;

    Store(Txn txn, String name, MemorySegment words, Functions functions) {
        this.txn = txn;
        this.name = name;
        this.words = words;
        this.functions = functions;
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** The transaction that it belongs to. */
    public Txn txn() {
        return txn;
    }

    /** Its size, and what it consists of. */
    public TableStat stat() {
        Core core = txn.enter();
        try {
            // Refused if the table is gone, or another kind has its name by now.
            found(call(functions.first, core.handle, words, core.room.out));
            return Tables.stat(txn, name);
        } finally {
            txn.exit();
        }
    }

    /** Deletes it with all that it has; false if it was gone already. */
    public boolean drop() {
        Core core = txn.enterToChange();
        try {
            return found(call(functions.drop, core.handle, words));
        } finally {
            txn.exit();
        }
    }

    /** Deletes all that it has. */
    public void clear() {
        Core core = txn.enterToChange();
        try {
            done(call(functions.clear, core.handle, words));
        } finally {
            txn.exit();
        }
    }

    /** Gives it another name. Open it by that one: this object does not find it any more. */
    public void rename(String to) {
        byte[] bytes = Huon.utf8(to);
        Core core = txn.enterToChange();
        try {
            done(call(functions.rename, core.handle, words, core.room.key(bytes)));
        } finally {
            txn.exit();
        }
    }

    /** The record with the lowest key, or null. */
    public Entry firstEntry() {
        return end(functions.first);
    }

    /** The record with the highest key, or null. */
    public Entry lastEntry() {
        return end(functions.last);
    }

    private Entry end(MethodHandle which) {
        Core core = txn.enter();
        try {
            boolean isThere = found(call(which, core.handle, words, core.room.out));
            return isThere ? core.room.entry(core.memory()) : null;
        } finally {
            txn.exit();
        }
    }

    /** How many records it has; costs nothing. */
    public long count() {
        return count(KeyRange.all());
    }

    /** How many records a range has: a walk over its leaves. */
    public long count(KeyRange range) {
        Core core = txn.enter();
        try {
            return number(functions.count, core, range);
        } finally {
            txn.exit();
        }
    }

    /** About how many records a range has; costs two descents. */
    public long estimate(KeyRange range) {
        Core core = txn.enter();
        try {
            return number(functions.estimate, core, range);
        } finally {
            txn.exit();
        }
    }

    /** Deletes all records of a range, whole leaves at once; how many there were. */
    public long deleteRange(KeyRange range) {
        Core core = txn.enterToChange();
        try {
            return number(functions.removeRange, core, range);
        } finally {
            txn.exit();
        }
    }

    private long number(MethodHandle which, Core core, KeyRange range) {
        Room room = core.room;
        done(call(which, core.handle, words, room.range(range), room.number));
        return room.answer();
    }

    /** All records, in order. */
    public Entries entries() {
        return range(KeyRange.all());
    }

    /** The records whose keys begin with these bytes. */
    public Entries prefix(byte[] prefix) {
        return range(KeyRange.prefix(prefix));
    }

    /** The records of a range; a multimap's are pairs, one for each value. */
    public Entries range(KeyRange range) {
        return new Entries(txn, range.isReversed, core -> number(functions.cursor, core, range));
    }

    /** A cursor over all records, before the first. */
    public Cursor cursor() {
        return new Cursor(this, open(KeyRange.all()));
    }

    private long open(KeyRange range) {
        Core core = txn.enter();
        try {
            return number(functions.cursor, core, range);
        } finally {
            txn.exit();
        }
    }

    /** Deletes the pair that a cursor stands at. */
    abstract boolean delete(MemorySegment key, MemorySegment value);
}
