package huon;

import static huon.Codes.done;
import static huon.Native.INT;
import static huon.Native.LONG;
import static huon.Native.call;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Many records in one call: they lie one behind another in a transaction's room. */
final class Packed {
    private static final ValueLayout.OfInt LENGTH = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;

    /** Keys that one call looks for: their ways through memory overlap by some dozens. */
    private static final int KEYS = 256;

    /** Bytes that one call stores, unless a record alone has more. */
    private static final long STORED_BYTES = 64 << 10;

    private Packed() {}

    /** Is given the values that were found: where in the keys, and where in memory. */
    interface Found {
        void at(int key, long address, long bytes);
    }

    static void get(Core core, MemorySegment table, byte[][] keys, Found found) {
        for (int from = 0; from < keys.length; from += KEYS) {
            get(core, table, keys, from, Math.min(keys.length, from + KEYS), found);
        }
    }

    private static void get(
            Core core, MemorySegment table, byte[][] keys, int from, int to, Found found) {
        int count = to - from;
        long bytes = 0;
        for (int i = from; i < to; i++) {
            bytes += keys[i].length;
        }
        Room room = core.room;
        MemorySegment values = room.first(16L * count);
        MemorySegment ends = room.piece(4L * count);
        MemorySegment packed = room.piece(bytes);
        int end = 0;
        for (int i = from; i < to; i++) {
            byte[] key = keys[i];
            MemorySegment.copy(key, 0, packed, BYTE, end, key.length);
            end = Math.addExact(end, key.length);
            ends.setAtIndex(INT, i - from, end);
        }
        done(Native.getManyPacked(core.handle, table, packed, ends, count, values));
        for (int i = from; i < to; i++) {
            long address = values.getAtIndex(LONG, 2L * (i - from));
            if (address != 0) {
                found.at(i, address, values.getAtIndex(LONG, 2L * (i - from) + 1));
            }
        }
    }

    static void put(Core core, MemorySegment table, byte[][] keys, byte[][] values) {
        int from = 0;
        while (from < keys.length) {
            long bytes = 8L + keys[from].length + values[from].length;
            int to = from + 1;
            while (to < keys.length) {
                long more = bytes + 8L + keys[to].length + values[to].length;
                if (more > STORED_BYTES) {
                    break;
                }
                bytes = more;
                to++;
            }
            MemorySegment packed = core.room.first(bytes);
            long at = 0;
            for (int i = from; i < to; i++) {
                at = pack(packed, at, keys[i], values[i]);
            }
            done(call(Native.PUT_PACKED, core.handle, table, packed, bytes, MemorySegment.NULL));
            from = to;
        }
    }

    private static long pack(MemorySegment to, long at, byte[] key, byte[] value) {
        to.set(LENGTH, at, key.length);
        to.set(LENGTH, at + 4, value.length);
        MemorySegment.copy(key, 0, to, BYTE, at + 8, key.length);
        MemorySegment.copy(value, 0, to, BYTE, at + 8 + key.length, value.length);
        return at + 8 + key.length + value.length;
    }
}
