package huon;

import static huon.Native.ALL;
import static huon.Native.LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Native memory that calls hand bytes over in and get answers in. One transaction at a time has
 * it; the next one takes it over, so that to begin one allocates none.
 *
 * <p>R1. Bytes are copied here before a call: what the caller gives may be closed by another
 * thread, or be moved by the call itself. R2. What was placed since {@link #key} was called lies
 * where it is until {@code key} is called again, as the room grows by further pieces. R3. The
 * memory goes when nothing refers to the room, so that a transaction that was forgotten needs
 * nothing done about it.
 */
final class Room {
    /** {@code huon_range}. */
    static final Struct RANGE =
            Struct.of("huon_range")
                    .u32("flags")
                    .part("from", Native.BYTES)
                    .part("to", Native.BYTES)
                    .end();

    // Looked up once: ranges are begun often.
    private static final long FROM = RANGE.offset("from");
    private static final long TO = RANGE.offset("to");

    /** Bytes of {@code huon_pair}: key and value, each an address and a length. */
    static final long PAIR = 32;

    private static final long OUT = 0;
    private static final long NUMBER = 32;
    private static final long RANGE_AT = 40;
    private static final long START = 96;
    private static final long BLOCK_BYTES = 4096;
    private static final long KEPT_BYTES_MAX = 1 << 20;
    private static final long SPARE_BYTES_MAX = 16 << 20;

    /** Rooms that no transaction has at the moment, and how long they are together. */
    private static final ConcurrentLinkedQueue<Room> SPARE = new ConcurrentLinkedQueue<>();

    private static final AtomicLong SPARE_BYTES = new AtomicLong();

    /** An answer: {@code huon_bytes} or {@code huon_pair}. */
    final MemorySegment out;
    /** Another one: a number, a truth, a handle. */
    final MemorySegment number;

    private final MemorySegment range;
    private final long[][] words = new long[3][2];
    /** Arguments that are {@code huon_bytes}. */
    private final MemorySegment[] bytes = new MemorySegment[3];

    private MemorySegment piece;
    private long used;
    private final List<MemorySegment> before = new ArrayList<>();

    private Room() {
        piece = Arena.ofAuto().allocate(BLOCK_BYTES, 16);
        MemorySegment block = piece;
        out = block.asSlice(OUT, PAIR);
        number = block.asSlice(NUMBER, 8);
        range = block.asSlice(RANGE_AT, RANGE.bytes());
        piece = block.asSlice(START);
        for (int i = 0; i < 3; i++) {
            bytes[i] = MemorySegment.ofArray(words[i]);
        }
    }

    static Room take() {
        Room room = SPARE.poll();
        if (room == null) {
            return new Room();
        }
        SPARE_BYTES.addAndGet(-room.piece.byteSize());
        return room;
    }

    void give() {
        reset();
        long bytes = piece.byteSize();
        if (bytes <= KEPT_BYTES_MAX && SPARE_BYTES.addAndGet(bytes) <= SPARE_BYTES_MAX) {
            SPARE.add(this);
        } else if (bytes <= KEPT_BYTES_MAX) {
            SPARE_BYTES.addAndGet(-bytes);
        }
    }

    static long spareBytes() {
        return SPARE_BYTES.get();
    }

    /** Does something that calls the library while it reads what was placed here. */
    <T> T aside(Supplier<T> calls) {
        MemorySegment kept = piece;
        long end = used;
        List<MemorySegment> others = List.copyOf(before);
        piece = Arena.ofAuto().allocate(BLOCK_BYTES, 16);
        reset();
        try {
            return calls.get();
        } finally {
            reset();
            before.addAll(others);
            piece = kept;
            used = end;
        }
    }

    private void reset() {
        used = 0;
        if (!before.isEmpty()) {
            before.clear();
        }
    }

    /** The first bytes that a call is given. */
    MemorySegment key(byte[] key) {
        reset();
        return place(0, key);
    }

    MemorySegment key(MemorySegment key) {
        reset();
        return place(0, key);
    }

    /** Further ones. */
    MemorySegment value(byte[] value) {
        return place(1, value);
    }

    MemorySegment value(MemorySegment value) {
        return place(1, value);
    }

    MemorySegment third(byte[] value) {
        return place(2, value);
    }

    private MemorySegment place(int which, byte[] source) {
        long at = reserve(source.length);
        MemorySegment.copy(source, 0, piece, ValueLayout.JAVA_BYTE, at, source.length);
        return placed(which, at, source.length);
    }

    private MemorySegment place(int which, MemorySegment source) {
        long count = source.byteSize();
        long at = reserve(count);
        MemorySegment.copy(source, 0, piece, at, count);
        return placed(which, at, count);
    }

    private MemorySegment placed(int which, long at, long count) {
        long[] of = words[which];
        of[0] = piece.address() + at;
        of[1] = count;
        return bytes[which];
    }

    /** Makes room in the present piece, or in a longer one (R2); where it begins. */
    private long reserve(long count) {
        long at = used;
        if (count > piece.byteSize() - at) {
            before.add(piece);
            piece = Arena.ofAuto().allocate(Math.max(2 * piece.byteSize(), count), 16);
            at = 0;
        }
        used = at + count;
        return at;
    }

    /** A piece of so many bytes, as the first that a call is given. */
    MemorySegment first(long count) {
        reset();
        return piece(count);
    }

    /** A further piece. */
    MemorySegment piece(long count) {
        used = (used + 7) & -8;
        if (used > piece.byteSize()) {
            used = piece.byteSize();
        }
        long at = reserve(count);
        return piece.asSlice(at, count);
    }

    /** {@code huon_bytes} in native memory, where a pointer to them is asked for. */
    MemorySegment pointed(MemorySegment words) {
        return piece(16).copyFrom(words);
    }

    /** A range of keys; null stands for all of them. */
    MemorySegment range(KeyRange of) {
        if (of.flags == 0) {
            return MemorySegment.NULL;
        }
        range.set(Native.INT, 0, of.flags);
        MemorySegment.copy(key(of.from), 0, range, FROM, 16);
        MemorySegment.copy(value(of.to), 0, range, TO, 16);
        return range;
    }

    /** The handle, or number, that was answered. */
    long answer() {
        return number.get(LONG, 0);
    }

    boolean truth() {
        return number.get(Native.BOOL, 0);
    }

    /** A copy of the bytes that were answered. */
    byte[] copied() {
        return copied(0);
    }

    private byte[] copied(long at) {
        return copy(out.get(LONG, at), out.get(LONG, at + 8));
    }

    static byte[] copy(long address, long count) {
        byte[] copy = new byte[Math.toIntExact(count)];
        MemorySegment.copy(ALL, ValueLayout.JAVA_BYTE, address, copy, 0, copy.length);
        return copy;
    }

    /** The bytes that were answered, as a part of that memory. */
    MemorySegment shown(MemorySegment memory) {
        return memory.asSlice(out.get(LONG, 0), out.get(LONG, 8));
    }

    /** The pair that was answered. */
    Entry entry(MemorySegment memory) {
        return Entry.at(memory, out, 0);
    }

    /** A copy of the pair that was answered. */
    Entry copiedEntry() {
        byte[] key = copied(0);
        byte[] value = copied(16);
        return Entry.of(key, value);
    }
}
