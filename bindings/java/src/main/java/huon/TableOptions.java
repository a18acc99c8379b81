package huon;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * What a table is created with; each field that is not said is as by default. A table that has
 * another order or length of values than that of bytes must be opened with the same.
 *
 * @param keys how keys compare
 * @param values how the values of a key compare, in a multimap
 * @param valueBytes how long each value of a multimap is; 0: of any length
 */
public record TableOptions(Order keys, Order values, int valueBytes) {
    /** How keys, or values of a multimap, compare. */
    public enum Order {
        /** As unsigned bytes, from the first to the last. */
        BYTES(0),
        /** As unsigned bytes, from the last to the first. */
        REVERSED(1),
        /** They are unsigned numbers of 32 bits, little-endian. */
        U32(2),
        /** They are unsigned numbers of 64 bits, little-endian. */
        U64(3),
        /** As the table was created. */
        STORED(5);

        final int code;

        Order(int code) {
            this.code = code;
        }
    }

    private static final Struct ORDER =
            Struct.of("huon_order")
                    .i32("kind")
                    .part("name", Native.BYTES)
                    .pointer("compare")
                    .pointer("context")
                    .end();

    private static final Struct OPTIONS =
            Struct.of("huon_table_options")
                    .size("bytes")
                    .part("keys", ORDER.layout())
                    .part("values", ORDER.layout())
                    .u32("value_bytes")
                    .part("key_type", Native.BYTES)
                    .part("value_type", Native.BYTES)
                    .end();

    /** Bytes in order, values of any length. */
    public TableOptions() {
        this(Order.BYTES, Order.BYTES, 0);
    }

    /** With that order of keys. */
    public TableOptions keys(Order order) {
        return new TableOptions(order, values, valueBytes);
    }

    /** With that order of the values of a key. */
    public TableOptions values(Order order) {
        return new TableOptions(keys, order, valueBytes);
    }

    /** With values of that length. */
    public TableOptions valueBytes(int bytes) {
        return new TableOptions(keys, values, bytes);
    }

    MemorySegment made(Arena arena) {
        MemorySegment made = arena.allocate(OPTIONS.layout());
        OPTIONS.set(made, "bytes", OPTIONS.bytes());
        made.set(Native.INT, OPTIONS.offset("keys"), keys.code);
        made.set(Native.INT, OPTIONS.offset("values"), values.code);
        OPTIONS.set(made, "value_bytes", valueBytes);
        return made;
    }
}
