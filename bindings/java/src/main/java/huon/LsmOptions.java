package huon;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.TreeMap;

/**
 * How write-optimised tables are kept. Each method returns new options. The first four are stored
 * with a table when it is made.
 */
public final class LsmOptions {
    /** No filters. */
    public static final int NO_FILTERS = 65535;

    private static final Struct OPTIONS =
            Struct.of("huon_lsm_options")
                    .size("bytes")
                    .u32("fan")
                    .u32("filter_bits")
                    .u32("small")
                    .u32("open_bytes")
                    .u64("base_bytes")
                    .u64("step_bytes")
                    .u64("batch_bytes")
                    .u64("filter_memory")
                    .u32("runs_max")
                    .u32("lease_ms")
                    .end();

    private final Map<String, Long> numbers;

    /** All as by default. */
    public LsmOptions() {
        this(Map.of());
    }

    private LsmOptions(Map<String, Long> numbers) {
        this.numbers = numbers;
    }

    private LsmOptions with(String option, long value) {
        Map<String, Long> more = new TreeMap<>(numbers);
        more.put(option, value);
        return new LsmOptions(more);
    }

    /** Runs of about the same size that are merged at a time: 2 to 1024; 8. */
    public LsmOptions fan(int number) {
        return with("fan", number);
    }

    /** Bits of filters for each key: 1 to 64; 12. {@link #NO_FILTERS}: none. */
    public LsmOptions filterBits(int number) {
        return with("filter_bits", number);
    }

    /** A transaction that puts fewer records adds them to the open run; 128. */
    public LsmOptions small(int number) {
        return with("small", number);
    }

    /** Bytes at which the open run is frozen; 256 KiB. */
    public LsmOptions openBytes(int number) {
        return with("open_bytes", number);
    }

    /** Bytes up to which runs count as small; 64 KiB. */
    public LsmOptions baseBytes(long bytes) {
        return with("base_bytes", bytes);
    }

    /** Bytes that a merge hands over in one transaction; 4 MiB. */
    public LsmOptions stepBytes(long bytes) {
        return with("step_bytes", bytes);
    }

    /** Bytes that a transaction collects before it makes a run of them; 64 MiB. */
    public LsmOptions batchBytes(long bytes) {
        return with("batch_bytes", bytes);
    }

    /** Bytes of filters kept in memory for a table; 64 MiB. */
    public LsmOptions filterMemory(long bytes) {
        return with("filter_memory", bytes);
    }

    /** Runs at which a program that commits waits for compaction, or helps; 512. */
    public LsmOptions runsMax(int number) {
        return with("runs_max", number);
    }

    /** Milliseconds for which a merge is left to the process that made its last step; 10000. */
    public LsmOptions leaseMillis(int number) {
        return with("lease_ms", number);
    }

    MemorySegment made(Arena arena) {
        MemorySegment made = arena.allocate(OPTIONS.layout());
        OPTIONS.set(made, "bytes", OPTIONS.bytes());
        numbers.forEach((option, value) -> OPTIONS.setNumber(made, option, value));
        return made;
    }
}
