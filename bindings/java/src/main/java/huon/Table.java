package huon;

import static huon.Codes.CONFLICT;
import static huon.Codes.EXISTS;
import static huon.Codes.done;
import static huon.Codes.found;
import static huon.Codes.is;
import static huon.Native.call;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.util.Iterator;

/**
 * A table: records in the order of their keys, as a transaction sees them.
 *
 * <p>{@code byte[]} is copied in and out. A {@code view} or {@code buffer} lies in the file,
 * read-only: it is good until the transaction ends, or in a write transaction until its next
 * change, and throws {@link IllegalStateException} from then on. Where a {@link MemorySegment} is
 * taken, {@link MemorySegment#ofBuffer} takes a {@link ByteBuffer}.
 */
public final class Table extends Store {
    private static final Functions FUNCTIONS =
            new Functions(
                    Native.TABLE_DROP,
                    Native.TABLE_CLEAR,
                    Native.TABLE_RENAME,
                    Native.FIRST,
                    Native.LAST,
                    Native.REMOVE_RANGE,
                    Native.COUNT,
                    Native.ESTIMATE,
                    Native.CURSOR_OPEN);

    Table(Txn txn, String name, MemorySegment words) {
        super(txn, name, words, FUNCTIONS);
    }

    /** The same table in another transaction of the environment, without looking its name up. */
    public Table in(Txn other) {
        return new Table(other, name(), words);
    }

    /** A copy of the value of a key, or null. */
    public byte[] get(byte[] key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            boolean isThere =
                    found(call(Native.GET, core.handle, words, room.key(key), room.out));
            return isThere ? room.copied() : null;
        } finally {
            txn.exit();
        }
    }

    /** A copy of the value of a key, or null. */
    public byte[] get(MemorySegment key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            boolean isThere =
                    found(call(Native.GET, core.handle, words, room.key(key), room.out));
            return isThere ? room.copied() : null;
        } finally {
            txn.exit();
        }
    }

    /** The value of a key where it lies, or null. */
    public MemorySegment view(byte[] key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            boolean isThere =
                    found(call(Native.GET, core.handle, words, room.key(key), room.out));
            return isThere ? room.shown(core.memory()) : null;
        } finally {
            txn.exit();
        }
    }

    /** The value of a key where it lies, or null. */
    public MemorySegment view(MemorySegment key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            boolean isThere =
                    found(call(Native.GET, core.handle, words, room.key(key), room.out));
            return isThere ? room.shown(core.memory()) : null;
        } finally {
            txn.exit();
        }
    }

    /** The value of a key where it lies, or null; one of 2 GiB or more has no buffer. */
    public ByteBuffer buffer(byte[] key) {
        MemorySegment view = view(key);
        return view == null ? null : view.asByteBuffer();
    }

    /** Whether it has a key. */
    public boolean contains(byte[] key) {
        Core core = txn.enter();
        try {
            MemorySegment none = MemorySegment.NULL;
            return found(call(Native.GET, core.handle, words, core.room.key(key), none));
        } finally {
            txn.exit();
        }
    }

    /** Copies of the values of many keys, several times cheaper than one by one; null for none. */
    public byte[][] getMany(byte[][] keys) {
        byte[][] values = new byte[keys.length][];
        Core core = txn.enter();
        try {
            Packed.get(core, words, keys, (i, at, bytes) -> values[i] = Room.copy(at, bytes));
        } finally {
            txn.exit();
        }
        return values;
    }

    /** The values of many keys where they lie; null for none. */
    public MemorySegment[] viewMany(byte[][] keys) {
        MemorySegment[] values = new MemorySegment[keys.length];
        Core core = txn.enter();
        try {
            MemorySegment memory = core.memory();
            Packed.get(core, words, keys, (i, at, bytes) -> values[i] = memory.asSlice(at, bytes));
        } finally {
            txn.exit();
        }
        return values;
    }

    /** The record with the lowest key that is not below this one, or null. */
    public Entry ceilingEntry(byte[] key) {
        return near(Native.AT_OR_ABOVE, key);
    }

    /** The record with the highest key that is not above this one, or null. */
    public Entry floorEntry(byte[] key) {
        return near(Native.AT_OR_BELOW, key);
    }

    private Entry near(MethodHandle which, byte[] key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            boolean isThere = found(call(which, core.handle, words, room.key(key), room.out));
            return isThere ? room.entry(core.memory()) : null;
        } finally {
            txn.exit();
        }
    }

    /** Stores a value under a key, over the one that is there. */
    public void put(byte[] key, byte[] value) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment none = MemorySegment.NULL;
            MemorySegment k = room.key(key);
            done(call(Native.PUT, core.handle, words, k, room.value(value), none));
        } finally {
            txn.exit();
        }
    }

    /** Stores a value under a key, over the one that is there. Views are good arguments. */
    public void put(MemorySegment key, MemorySegment value) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            MemorySegment none = MemorySegment.NULL;
            MemorySegment k = room.key(key);
            MemorySegment v = room.value(value);
            core.changes();
            done(call(Native.PUT, core.handle, words, k, v, none));
        } finally {
            txn.exit();
        }
    }

    /**
     * Stores many records: the values under the keys of the same places. Those before one that is
     * refused are stored.
     */
    public void putMany(byte[][] keys, byte[][] values) {
        if (keys.length != values.length) {
            throw new IllegalArgumentException(
                    keys.length + " keys and " + values.length + " values");
        }
        Core core = txn.enterToChange();
        try {
            Packed.put(core, words, keys, values);
        } finally {
            txn.exit();
        }
    }

    /** Stores a value under a key that has none; false, and nothing is changed, if it has one. */
    public boolean putIfAbsent(byte[] key, byte[] value) {
        return change(Native.PUT_IF_ABSENT, key, value, EXISTS);
    }

    /** Stores a value under a key that has one; false, and nothing is changed, if it has none. */
    public boolean update(byte[] key, byte[] value) {
        return change(Native.UPDATE, key, value, Codes.NOT_FOUND);
    }

    /**
     * Stores a value behind all that are there: several times cheaper than {@link #put} where keys
     * rise. {@link HuonException.Kind#KEY_OUT_OF_ORDER} if the key is not above the last one.
     */
    public void append(byte[] key, byte[] value) {
        change(Native.APPEND, key, value, Codes.OK);
    }

    private boolean change(MethodHandle how, byte[] key, byte[] value, int unless) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            return is(call(how, core.handle, words, k, room.value(value)), unless);
        } finally {
            txn.exit();
        }
    }

    /** As {@link #put}; a copy of the value before, or null. */
    public byte[] getAndPut(byte[] key, byte[] value) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            done(call(Native.REPLACE, core.handle, words, k, room.value(value), room.out));
            return room.out.get(Native.LONG, 0) == 0 ? null : room.copied();
        } finally {
            txn.exit();
        }
    }

    /** Deletes a key; a copy of its value, or null if it had none. */
    public byte[] getAndDelete(byte[] key) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            boolean isThere =
                    found(call(Native.TAKE, core.handle, words, room.key(key), room.out));
            return isThere ? room.copied() : null;
        } finally {
            txn.exit();
        }
    }

    /** Deletes a key; false if it is not there. */
    public boolean delete(byte[] key) {
        Core core = txn.enterToChange();
        try {
            return found(call(Native.REMOVE, core.handle, words, core.room.key(key)));
        } finally {
            txn.exit();
        }
    }

    /** Deletes a key, which may be a view of this transaction; false if it is not there. */
    public boolean delete(MemorySegment key) {
        Core core = txn.enter();
        try {
            MemorySegment k = core.room.key(key);
            core.changes();
            return found(call(Native.REMOVE, core.handle, words, k));
        } finally {
            txn.exit();
        }
    }

    @Override
    boolean delete(MemorySegment key, MemorySegment value) {
        return delete(key);
    }

    /**
     * Stores a value under a key if it has the expected value now; false, and nothing is changed,
     * if it has another one. Null for {@code expected}: the key must not be there; null for
     * {@code value}: it is deleted.
     */
    public boolean compareAndSet(byte[] key, byte[] expected, byte[] value) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            MemorySegment old = MemorySegment.NULL;
            MemorySegment now = MemorySegment.NULL;
            if (expected != null) {
                old = room.pointed(room.value(expected));
            }
            if (value != null) {
                now = room.pointed(room.third(value));
            }
            return is(call(Native.COMPARE_AND_SET, core.handle, words, k, old, now), CONFLICT);
        } finally {
            txn.exit();
        }
    }

    /** Deletes the record with the lowest key; a copy of it, or null if there is none. */
    public Entry pollFirstEntry() {
        return poll(Native.POP_FIRST);
    }

    /** Deletes the record with the highest key; a copy of it, or null if there is none. */
    public Entry pollLastEntry() {
        return poll(Native.POP_LAST);
    }

    private Entry poll(MethodHandle which) {
        Core core = txn.enterToChange();
        try {
            boolean isThere = found(call(which, core.handle, words, core.room.out));
            return isThere ? core.room.copiedEntry() : null;
        } finally {
            txn.exit();
        }
    }

    /**
     * Takes so many numbers of the table's sequence, and tells the first of them; 0 only looks.
     * They are taken with the commit.
     */
    public long sequence(long count) {
        if (count < 0) {
            throw new IllegalArgumentException("a sequence does not go back: " + count);
        }
        Core core = count == 0 ? txn.enter() : txn.enterToChange();
        try {
            done(call(Native.SEQUENCE, core.handle, words, count, core.room.number));
            return core.room.answer();
        } finally {
            txn.exit();
        }
    }

    /**
     * Fills it from records in the order of keys, behind those that are there: into full pages,
     * many times cheaper than putting them. What the iterator throws comes out of here. After that,
     * or a key that is out of order, the transaction is broken. The iterator must not use this
     * transaction.
     */
    public void bulkAppend(Iterator<Entry> records) {
        Core core = txn.enterToChange();
        try (Callbacks callbacks = new Callbacks()) {
            MemorySegment next = callbacks.next(records);
            MemorySegment none = MemorySegment.NULL;
            callbacks.done(call(Native.BULK_APPEND, core.handle, words, next, none));
        } finally {
            txn.exit();
        }
    }
}
