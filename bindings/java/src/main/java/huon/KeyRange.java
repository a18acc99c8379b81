package huon;

import java.util.Arrays;

/**
 * A range of keys, and the way through it. The names are those of lmdbjava and of Guava's ranges;
 * {@link #reversed} is from the highest key to the lowest.
 */
public final class KeyRange {
    // The flags of huon_range.
    static final int FROM = 1;
    static final int AFTER = 2;
    static final int TO = 4;
    static final int BEFORE = 8;
    static final int PREFIX = 16;

    private static final byte[] NONE = {};
    private static final KeyRange ALL = new KeyRange(0, NONE, NONE, false);

    final int flags;
    final byte[] from;
    final byte[] to;
    final boolean isReversed;

    private KeyRange(int flags, byte[] from, byte[] to, boolean isReversed) {
        this.flags = flags;
        this.from = from;
        this.to = to;
        this.isReversed = isReversed;
    }

    private static KeyRange of(int flags, byte[] from, byte[] to) {
        return new KeyRange(flags, from.clone(), to.clone(), false);
    }

    /** All keys. */
    public static KeyRange all() {
        return ALL;
    }

    /** The keys that begin with these bytes, in a table whose order is that of bytes. */
    public static KeyRange prefix(byte[] prefix) {
        return of(PREFIX, prefix, NONE);
    }

    /** {@code from <= key}. */
    public static KeyRange atLeast(byte[] from) {
        return of(FROM, from, NONE);
    }

    /** {@code from < key}. */
    public static KeyRange greaterThan(byte[] from) {
        return of(AFTER, from, NONE);
    }

    /** {@code key <= to}. */
    public static KeyRange atMost(byte[] to) {
        return of(TO, NONE, to);
    }

    /** {@code key < to}. */
    public static KeyRange lessThan(byte[] to) {
        return of(BEFORE, NONE, to);
    }

    /** {@code from <= key <= to}. */
    public static KeyRange closed(byte[] from, byte[] to) {
        return of(FROM | TO, from, to);
    }

    /** {@code from <= key < to}. */
    public static KeyRange closedOpen(byte[] from, byte[] to) {
        return of(FROM | BEFORE, from, to);
    }

    /** {@code from < key < to}. */
    public static KeyRange open(byte[] from, byte[] to) {
        return of(AFTER | BEFORE, from, to);
    }

    /** {@code from < key <= to}. */
    public static KeyRange openClosed(byte[] from, byte[] to) {
        return of(AFTER | TO, from, to);
    }

    /** The same keys the other way. */
    public KeyRange reversed() {
        return new KeyRange(flags, from, to, !isReversed);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof KeyRange range
                && flags == range.flags
                && isReversed == range.isReversed
                && Arrays.equals(from, range.from)
                && Arrays.equals(to, range.to);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * Arrays.hashCode(from) + Arrays.hashCode(to)) + flags * 2
                + (isReversed ? 1 : 0);
    }

    @Override
    public String toString() {
        return "KeyRange[flags=" + flags + ", from=" + Arrays.toString(from) + ", to="
                + Arrays.toString(to) + ", reversed=" + isReversed + "]";
    }
}
