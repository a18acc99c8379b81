package huon;

import static huon.Codes.found;
import static huon.Native.LONG;
import static huon.Native.call;

import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.ToLongFunction;

/**
 * The way through the records of a range, some hundreds with each call: few at first, as
 * most ranges are short. It opens its cursor when it is asked for the first record.
 *
 * <p>What was read ahead is shown until the transaction changes something: then the cursor goes
 * back to where the caller is, and reads on from there, changed records among them.
 */
final class Scan implements Iterator<Entry>, Core.BeforeChange {
    private static final int FEW = 8;
    private static final int MANY = 256;

    /**
     * Records that were read ahead, and the memory that goes with them. Where threads use the
     * transaction at once it is never changed, so that they see whole ones.
     */
    private record Batch(MemorySegment memory, long[] pairs) {
        /** Words of a pair. */
        static final int PAIR = (int) (Room.PAIR / Long.BYTES);

        static final Batch NONE = new Batch(MemorySegment.NULL, new long[0]);
    }

    private final Txn txn;
    private final boolean isReversed;
    private final ToLongFunction<Core> opens;
    /** Null: it has not begun. */
    private CursorHandle cursor;

    private int want = FEW;
    private Batch batch = Batch.NONE;
    /** Where the next record begins in the batch. */
    private int at;
    private boolean isListening;

    Scan(Txn txn, boolean isReversed, ToLongFunction<Core> opens) {
        this.txn = txn;
        this.isReversed = isReversed;
        this.opens = opens;
    }

    @Override
    public boolean hasNext() {
        return at < batch.pairs.length || fill();
    }

    @Override
    public Entry next() {
        Batch batch = this.batch;
        int at = this.at;
        if (at < batch.pairs.length) {
            this.at = at + Batch.PAIR;
            return Entry.at(batch.memory, batch.pairs, at);
        }
        if (!fill()) {
            throw new NoSuchElementException();
        }
        return next();
    }

    private boolean fill() {
        if (cursor != null && cursor.handle == 0) {
            return false;
        }
        Core core = txn.enter();
        try {
            if (at < batch.pairs.length) {
                return true; // Another thread came first.
            }
            if (cursor == null) {
                begin(core);
            } else if (cursor.handle == 0) {
                return false;
            }
            MemorySegment pairs = core.room.first(Room.PAIR * want);
            int count = read(core, isReversed, pairs, want);
            long[] words = words(core, count);
            MemorySegment.copy(pairs, LONG, 0, words, 0, words.length);
            at = 0;
            batch = new Batch(core.memory(), words);
            // In a write transaction the cursor may have to go back.
            if (count == 0 || count < want && !core.writes()) {
                cursor.close();
            } else {
                cursor.ownedBy(this);
                listen(core);
            }
            want = Math.min(FEW * want, MANY);
            return count > 0;
        } finally {
            txn.exit();
        }
    }

    private long[] words(Core core, int count) {
        int length = Batch.PAIR * count;
        boolean isAgain = core.lock == null && batch.pairs.length == length;
        return isAgain ? batch.pairs : new long[length];
    }

    private void begin(Core core) {
        cursor = new CursorHandle(opens.applyAsLong(core));
        if (isReversed) {
            call(Native.TO_END, cursor.handle);
        }
    }

    private int read(Core core, boolean backwards, MemorySegment pairs, long records) {
        MemorySegment number = core.room.number;
        long open = cursor.handle;
        boolean isThere = false;
        try {
            // Each handle is a constant where it is called (N3).
            int code =
                    backwards
                            ? call(Native.PREV_MANY, open, core.handle, pairs, records, number)
                            : call(Native.NEXT_MANY, open, core.handle, pairs, records, number);
            isThere = found(code);
        } catch (RuntimeException e) {
            // It may be tried again.
            cursor.ownedBy(this);
            throw e;
        }
        return isThere ? (int) core.room.answer() : 0;
    }

    private void listen(Core core) {
        if (!isListening) {
            isListening = core.writes();
            core.beforeChange(this);
        }
    }

    /**
     * Gives up what was read ahead, before a change. The cursor has to stand behind the record that
     * was shown last, and not before the next one: what the change puts between them is shown.
     */
    @Override
    public void changes(Core core) {
        int ahead = (batch.pairs.length - at) / Batch.PAIR;
        boolean isShown = at > 0;
        isListening = false;
        batch = Batch.NONE;
        at = 0;
        // Who changes much on the way shall not read much ahead in vain.
        want = FEW;
        if (ahead == 0 || cursor.handle == 0) {
            return;
        }
        // Arguments of the change may lie in the room already.
        MemorySegment pairs = core.room.piece(Room.PAIR * (ahead + 1));
        if (isShown) {
            read(core, !isReversed, pairs, ahead + 1);
            read(core, isReversed, pairs, 1);
        } else {
            read(core, !isReversed, pairs, ahead);
        }
    }
}
