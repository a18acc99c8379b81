package huon;

import static huon.Codes.EXISTS;
import static huon.Codes.NOT_FOUND;
import static huon.Codes.done;
import static huon.Codes.found;
import static huon.Codes.is;
import static huon.Native.call;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A multimap: a key has any number of values, in order and none twice. A value is at most as long
 * as a key may be.
 */
public final class Multimap extends Store {
    private static final Functions FUNCTIONS =
            new Functions(
                    Native.MULTI_DROP,
                    Native.MULTI_CLEAR,
                    Native.MULTI_RENAME,
                    Native.MULTI_FIRST,
                    Native.MULTI_LAST,
                    Native.MULTI_REMOVE_RANGE,
                    Native.MULTI_COUNT,
                    Native.MULTI_ESTIMATE,
                    Native.MULTI_CURSOR_OPEN);

    Multimap(Txn txn, String name, MemorySegment words) {
        super(txn, name, words, FUNCTIONS);
    }

    /** The same multimap in another transaction of the environment. */
    public Multimap in(Txn other) {
        return new Multimap(other, name(), words);
    }

    /** A copy of the first value of a key, or null. */
    public byte[] getFirst(byte[] key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            return found(call(Native.MULTI_GET, core.handle, words, k, room.out))
                    ? room.copied()
                    : null;
        } finally {
            txn.exit();
        }
    }

    /** The values of a key, in order. */
    public Entries values(byte[] key) {
        return values(key, false);
    }

    /** The values of a key, from the last to the first if that is asked for. */
    public Entries values(byte[] key, boolean isReversed) {
        byte[] own = key.clone();
        return new Entries(txn, isReversed, core -> open(core, own));
    }

    private long open(Core core, byte[] key) {
        Room room = core.room;
        done(call(Native.MULTI_VALUES_OPEN, core.handle, words, room.key(key), room.number));
        return room.answer();
    }

    /** Whether a key has any value. */
    public boolean contains(byte[] key) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            return found(call(Native.MULTI_GET, core.handle, words, room.key(key), room.out));
        } finally {
            txn.exit();
        }
    }

    /** Whether a key has that value. */
    public boolean contains(byte[] key, byte[] value) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            return found(call(Native.MULTI_CONTAINS, core.handle, words, k, room.value(value)));
        } finally {
            txn.exit();
        }
    }

    /** How many values a key has; costs a descent, however many they are. */
    public long countValues(byte[] key) {
        Core core = txn.enter();
        try {
            return number(Native.MULTI_COUNT_VALUES, core, key, NOT_FOUND);
        } finally {
            txn.exit();
        }
    }

    /** Adds a value to those of a key; false if it was among them. */
    public boolean put(byte[] key, byte[] value) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            MemorySegment v = room.value(value);
            done(call(Native.MULTI_PUT, core.handle, words, k, v, room.number));
            return room.truth();
        } finally {
            txn.exit();
        }
    }

    /** Adds a value to a key that has none; false, and nothing is changed, if it has one. */
    public boolean putIfAbsent(byte[] key, byte[] value) {
        return change(Native.MULTI_PUT_IF_ABSENT, key, value, EXISTS);
    }

    /**
     * Adds a pair behind all that are there; {@link HuonException.Kind#KEY_OUT_OF_ORDER} if it
     * does not come last.
     */
    public void append(byte[] key, byte[] value) {
        change(Native.MULTI_APPEND, key, value, Codes.OK);
    }

    /** Deletes one value of a key; false if it is not there. */
    public boolean delete(byte[] key, byte[] value) {
        return change(Native.MULTI_REMOVE, key, value, NOT_FOUND);
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

    @Override
    boolean delete(MemorySegment key, MemorySegment value) {
        Core core = txn.enter();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            MemorySegment v = room.value(value);
            core.changes();
            return found(call(Native.MULTI_REMOVE, core.handle, words, k, v));
        } finally {
            txn.exit();
        }
    }

    /** Has a key have this value alone; how many it had. */
    public long set(byte[] key, byte[] value) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            MemorySegment v = room.value(value);
            done(call(Native.MULTI_SET, core.handle, words, k, v, room.number));
            return room.answer();
        } finally {
            txn.exit();
        }
    }

    /** Puts one value in the place of another one; false if that is not there. */
    public boolean update(byte[] key, byte[] old, byte[] value) {
        Core core = txn.enterToChange();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            MemorySegment o = room.value(old);
            MemorySegment v = room.third(value);
            return found(call(Native.MULTI_UPDATE, core.handle, words, k, o, v));
        } finally {
            txn.exit();
        }
    }

    /** Deletes all values of a key; how many it had. */
    public long deleteAll(byte[] key) {
        Core core = txn.enterToChange();
        try {
            return number(Native.MULTI_REMOVE_KEY, core, key, NOT_FOUND);
        } finally {
            txn.exit();
        }
    }

    private long number(MethodHandle which, Core core, byte[] key, int none) {
        Room room = core.room;
        int code = call(which, core.handle, words, room.key(key), room.number);
        return is(code, none) ? room.answer() : 0;
    }
}
