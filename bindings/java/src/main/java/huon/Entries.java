package huon;

import java.util.Iterator;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The records of a range, to be gone through once or often: each time from its start, and as the
 * transaction sees them then. Each record is an object of its own, which may be kept as long as
 * the transaction is open. An iterator is for one thread at a time, also in a transaction for all.
 */
public final class Entries implements Iterable<Entry> {
    private static final int ORDER =
            Spliterator.ORDERED | Spliterator.NONNULL;

    private final Txn txn;
    private final boolean isReversed;
    private final ToLongFunction<Core> opens;

    Entries(Txn txn, boolean isReversed, ToLongFunction<Core> opens) {
        this.txn = txn;
        this.isReversed = isReversed;
        this.opens = opens;
    }

    @Override
    public Iterator<Entry> iterator() {
        txn.enter();
        txn.exit();
        return new Scan(txn, isReversed, opens);
    }

    /** The records as a stream. It is sequential: a transaction is of one thread. */
    public Stream<Entry> stream() {
        return StreamSupport.stream(spliterator(), false);
    }

    @Override
    public Spliterator<Entry> spliterator() {
        return Spliterators.spliteratorUnknownSize(iterator(), ORDER);
    }
}
