package huon;

import static huon.Native.LONG;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A record: a key and a value, or a pair of a multimap. {@link #key} and {@link #value} copy.
 * Views lie in the file, read-only: they are good until the transaction ends, or in a write
 * transaction until its next change. Then they throw {@link IllegalStateException}, and so does
 * an entry.
 */
public final class Entry {
    private final MemorySegment keys;
    private final MemorySegment values;
    private final long key;
    private final long keyBytes;
    private final long value;
    private final long valueBytes;

    private Entry(
            MemorySegment keys,
            MemorySegment values,
            long key,
            long keyBytes,
            long value,
            long valueBytes) {
        this.keys = keys;
        this.values = values;
        this.key = key;
        this.keyBytes = keyBytes;
        this.value = value;
        this.valueBytes = valueBytes;
    }

    /** The pair that is written there, in that memory. */
    static Entry at(MemorySegment memory, MemorySegment pairs, long at) {
        return new Entry(
                memory,
                memory,
                pairs.get(LONG, at),
                pairs.get(LONG, at + 8),
                pairs.get(LONG, at + 16),
                pairs.get(LONG, at + 24));
    }

    /** The same of words that were copied from there. */
    static Entry at(MemorySegment memory, long[] pairs, int at) {
        return new Entry(
                memory, memory, pairs[at], pairs[at + 1], pairs[at + 2], pairs[at + 3]);
    }

    /** A record to be stored. The arrays are not copied. */
    public static Entry of(byte[] key, byte[] value) {
        return of(MemorySegment.ofArray(key), MemorySegment.ofArray(value));
    }

    /** A record to be stored. */
    public static Entry of(MemorySegment key, MemorySegment value) {
        return new Entry(key, value, 0, key.byteSize(), 0, value.byteSize());
    }

    /** A copy of the key. */
    public byte[] key() {
        return copy(keys, key, keyBytes);
    }

    /** A copy of the value. */
    public byte[] value() {
        return copy(values, value, valueBytes);
    }

    /** The key where it lies. */
    public MemorySegment keyView() {
        return keys.asSlice(key, keyBytes);
    }

    /** The value where it lies. */
    public MemorySegment valueView() {
        return values.asSlice(value, valueBytes);
    }

    /** The key where it lies. */
    public ByteBuffer keyBuffer() {
        return keyView().asByteBuffer();
    }

    /** The value where it lies; one of 2 GiB or more has no buffer. */
    public ByteBuffer valueBuffer() {
        return valueView().asByteBuffer();
    }

    /** How long the key is. */
    public long keyBytes() {
        return keyBytes;
    }

    /** How long the value is. */
    public long valueBytes() {
        return valueBytes;
    }

    /** The key as text of UTF-8. */
    public String keyText() {
        return new String(key(), StandardCharsets.UTF_8);
    }

    /** The value as text of UTF-8. */
    public String valueText() {
        return new String(value(), StandardCharsets.UTF_8);
    }

    private static byte[] copy(MemorySegment memory, long at, long count) {
        byte[] copy = new byte[Math.toIntExact(count)];
        MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, at, copy, 0, copy.length);
        return copy;
    }
}
