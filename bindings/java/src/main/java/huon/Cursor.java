package huon;

import static huon.Codes.done;
import static huon.Codes.found;
import static huon.Native.call;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;

/**
 * A place in a table or multimap, for programs that go back and forth. To go through a range,
 * {@link Store#range} is several times as fast.
 *
 * <p>It stands at a record after a move that answers true, and {@link #entry} is that record. A
 * change of the transaction leaves it where it is: {@link #next} and {@link #prev} go on from
 * there, and what the entry has shown is gone.
 */
public final class Cursor implements AutoCloseable {
    private final Store store;
    private final CursorHandle cursor;
    private Entry entry;
    /** The way of the move that led to the entry. */
    private boolean wasForward;
    /** A copy of the entry that a change has taken away, as far as it tells records apart. */
    private byte[] lostKey;
    private byte[] lostValue;
    private final Core.BeforeChange listener = core -> changes();
    private boolean isListening;

    Cursor(Store store, long handle) {
        this.store = store;
        cursor = new CursorHandle(handle);
        cursor.ownedBy(this);
    }

    /** The record that it stands at. */
    public Entry entry() {
        if (entry == null) {
            throw new IllegalStateException("the cursor stands at no record");
        }
        return entry;
    }

    /** A copy of the key that it stands at. */
    public byte[] key() {
        return entry().key();
    }

    /** A copy of the value that it stands at. */
    public byte[] value() {
        return entry().value();
    }

    /** Moves to the first record; false if there is none. */
    public boolean first() {
        return jump(Native.TO_START, true);
    }

    /** Moves to the last record; false if there is none. */
    public boolean last() {
        return jump(Native.TO_END, false);
    }

    /** In a multimap: moves to the first value of the next key; false if there is none. */
    public boolean nextKey() {
        return jump(Native.SKIP_KEY, true);
    }

    /** In a multimap: moves to the last value of the key before; false if there is none. */
    public boolean prevKey() {
        return jump(Native.SKIP_KEY_BACK, false);
    }

    private boolean jump(MethodHandle to, boolean forward) {
        Core core = enter();
        try {
            done(call(to, cursor.handle));
            return step(core, forward);
        } finally {
            exit();
        }
    }

    /** Moves to the first record whose key is not below this one; false if there is none. */
    public boolean seek(byte[] key) {
        return seek(Native.SEEK, key, true);
    }

    /** Moves to the last record whose key is not above this one; false if there is none. */
    public boolean seekBack(byte[] key) {
        return seek(Native.SEEK_AFTER, key, false);
    }

    private boolean seek(MethodHandle to, byte[] key, boolean forward) {
        Core core = enter();
        try {
            done(call(to, cursor.handle, core.room.key(key)));
            return step(core, forward);
        } finally {
            exit();
        }
    }

    /** In a multimap: moves to the first pair that is not below this one; false if none is. */
    public boolean seek(byte[] key, byte[] value) {
        Core core = enter();
        try {
            Room room = core.room;
            MemorySegment k = room.key(key);
            done(call(Native.SEEK_PAIR, cursor.handle, k, room.value(value)));
            return step(core, true);
        } finally {
            exit();
        }
    }

    /** Moves to the next record; false if there is none. */
    public boolean next() {
        return move(true);
    }

    /** Moves to the record before; false if there is none. */
    public boolean prev() {
        return move(false);
    }

    /**
     * The library's cursor stands between two records, this one at a record: where it turns round,
     * it is shown the same one again, unless that is gone.
     */
    private boolean move(boolean forward) {
        Core core = enter();
        try {
            boolean turns = entry != null && forward != wasForward;
            Entry before = turns ? kept() : null;
            boolean isThere = step(core, forward);
            return isThere && turns && isSame(before) ? step(core, forward) : isThere;
        } finally {
            exit();
        }
    }

    private Entry kept() {
        return lostKey == null ? entry : Entry.of(lostKey, lostValue);
    }

    private boolean isSame(Entry before) {
        return before.keyView().mismatch(entry.keyView()) == -1
                && (store instanceof Table
                        || before.valueView().mismatch(entry.valueView()) == -1);
    }

    private boolean step(Core core, boolean forward) {
        Room room = core.room;
        entry = null;
        lostKey = null;
        wasForward = forward;
        int code =
                forward
                        ? call(Native.NEXT, cursor.handle, core.handle, room.out)
                        : call(Native.PREV, cursor.handle, core.handle, room.out);
        if (!found(code)) {
            return false;
        }
        entry = room.entry(core.memory());
        if (!isListening) {
            isListening = core.writes();
            core.beforeChange(listener);
        }
        return true;
    }

    private void changes() {
        isListening = false;
        if (entry != null && lostKey == null) {
            lostKey = entry.key();
            lostValue = store instanceof Table ? lostKey : entry.value();
        }
    }

    /** Deletes the record that it stands at; the next move goes on from there. */
    public void delete() {
        entry();
        Entry at = kept();
        store.delete(at.keyView(), at.valueView());
        entry = null;
        lostKey = null;
    }

    private Core enter() {
        Core core = store.txn.enter();
        if (cursor.handle == 0) {
            store.txn.exit();
            throw new IllegalStateException("the cursor is closed");
        }
        return core;
    }

    private void exit() {
        Reference.reachabilityFence(this);
        store.txn.exit();
    }

    /** Closes it, before or after its transaction. */
    @Override
    public void close() {
        entry = null;
        cursor.close();
    }
}
