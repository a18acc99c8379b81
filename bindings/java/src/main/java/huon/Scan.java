package huon;

import static huon.Codes.found;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * The way through the records of a range, some dozens with each call: few at first, as most
 * ranges are short.
 *
 * <p>What was read ahead is shown until the transaction changes something: then the cursor goes
 * back to where the caller is, and reads on from there, changed records among them.
 */
final class Scan implements Iterator<Entry>, Core.BeforeChange {
    private static final int FEW = 8;
    private static final int MANY = 64;

    private final Txn txn;
    private final boolean isReversed;
    private final CursorHandle cursor;
    private Cleaner.Cleanable cleanable;

    private MemorySegment memory;
    private MemorySegment pairs;
    private int capacity;
    /** Records that were read ahead, and how many of them were shown. */
    private int count;
    private int shown;

    Scan(Txn txn, boolean isReversed, long cursor) {
        this.txn = txn;
        this.isReversed = isReversed;
        this.cursor = new CursorHandle(cursor);
        if (isReversed) {
            call(Native.TO_END, cursor);
        }
    }

    @Override
    public boolean hasNext() {
        return shown < count || fill();
    }

    @Override
    public Entry next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return Entry.at(memory, pairs, Room.PAIR * shown++);
    }

    private boolean fill() {
        if (cursor.handle == 0) {
            return false;
        }
        Core core = txn.enter();
        try {
            if (capacity < MANY) {
                capacity = capacity == 0 ? FEW : MANY;
                pairs = Arena.ofAuto().allocate(Room.PAIR * capacity, 8);
            }
            count = 0;
            shown = 0;
            count = read(core, isReversed, capacity);
            // In a write transaction the cursor may have to go back.
            if (count == 0 || count < capacity && !core.writes()) {
                close();
            } else {
                if (cleanable == null) {
                    cleanable = cursor.ownedBy(this);
                }
                core.beforeChange(this);
            }
            memory = core.memory();
            return count > 0;
        } finally {
            txn.exit();
        }
    }

    private int read(Core core, boolean backwards, long records) {
        MemorySegment number = core.room.number;
        long open = cursor.handle;
        // Each handle is a constant where it is called (N3).
        int code =
                backwards
                        ? call(Native.PREV_MANY, open, core.handle, pairs, records, number)
                        : call(Native.NEXT_MANY, open, core.handle, pairs, records, number);
        return found(code) ? (int) core.room.answer() : 0;
    }

    private void close() {
        if (cleanable != null) {
            cleanable.clean();
        } else {
            cursor.run();
        }
    }

    /**
     * Gives up what was read ahead, before a change. The cursor has to stand behind the record that
     * was shown last, and not before the next one: what the change puts between them is shown.
     */
    @Override
    public void changes(Core core) {
        int ahead = count - shown;
        boolean isShown = shown > 0;
        count = 0;
        shown = 0;
        if (ahead == 0 || cursor.handle == 0) {
            return;
        }
        if (isShown) {
            read(core, !isReversed, ahead + 1);
            read(core, isReversed, 1);
        } else {
            read(core, !isReversed, ahead);
        }
    }
}
