package huon;

import static huon.Codes.done;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;

/**
 * How an environment is opened. Each method returns new options, so that these may be kept and
 * shared. What is not said is as by default, or as the file says.
 */
public final class Options {
    /** When checksums are verified. */
    public enum Verify {
        /** When a page is read first: the default. */
        ONCE,
        /** The same, and large values each time. */
        ALWAYS,
        /** Never in reading. */
        NEVER
    }

    /** When the kernel reads ahead. */
    public enum ReadAhead {
        /** While the file fits in memory: the default. */
        AUTO,
        /** Always. */
        ALWAYS,
        /** Never. */
        NEVER
    }

    // The numbers of options in huon.h.
    static final int PAGE_BYTES = 1;
    static final int MAX_BYTES = 2;
    static final int MAP_BYTES = 3;
    static final int MIN_BYTES = 4;
    static final int GROW_BYTES = 5;
    static final int SHRINK_BYTES = 6;
    static final int WRITE_BUFFER_BYTES = 7;
    static final int FILE_MODE = 8;
    static final int CREATE = 9;
    static final int OPEN_READ_ONLY = 10;
    static final int EXCLUSIVE = 11;
    static final int DURABILITY = 12;
    static final int FLUSH_AFTER_BYTES = 13;
    static final int FLUSH_AFTER_MS = 14;
    static final int VERIFY = 15;
    static final int READ_AHEAD = 16;
    static final int LOCK_TIMEOUT_MS = 17;
    static final int META_SLOT = 18;
    static final int INHERIT_DURABILITY = 19;
    static final int SLOW_READERS_BEFORE_GROWING = 20;
    static final int JOURNAL_BYTES = 32;
    static final int GIVE_UP_JOURNAL = 33;

    private final Map<Integer, Long> numbers;
    final SlowReader.Handler onSlowReader;

    /** All as by default. */
    public Options() {
        this(Map.of(), null);
    }

    private Options(Map<Integer, Long> numbers, SlowReader.Handler onSlowReader) {
        this.numbers = numbers;
        this.onSlowReader = onSlowReader;
    }

    private Options with(int option, long value) {
        Map<Integer, Long> more = new TreeMap<>(numbers);
        more.put(option, value);
        return new Options(more, onSlowReader);
    }

    /** Bytes of a page of a new file: 256 to 65536, a power of two; 4096 unless said otherwise. */
    public Options pageBytes(int bytes) {
        return with(PAGE_BYTES, bytes);
    }

    /** The most bytes that a new file may have; 1 TiB unless said otherwise. */
    public Options maxBytes(long bytes) {
        return with(MAX_BYTES, bytes);
    }

    /** Address space to reserve, if that is more than the most bytes of the file. */
    public Options mapBytes(long bytes) {
        return with(MAP_BYTES, bytes);
    }

    /** Bytes below which a new file never shrinks. */
    public Options minBytes(long bytes) {
        return with(MIN_BYTES, bytes);
    }

    /** Bytes that a new file grows by; 0, the default, lets that follow its size. */
    public Options growBytes(long bytes) {
        return with(GROW_BYTES, bytes);
    }

    /** A free end of so many bytes is cut off a new file; 8 MiB unless said otherwise; 0: never. */
    public Options shrinkBytes(long bytes) {
        return with(SHRINK_BYTES, bytes);
    }

    /** Bytes of changed pages that a write transaction keeps in memory; 256 MiB by default. */
    public Options writeBufferBytes(long bytes) {
        return with(WRITE_BUFFER_BYTES, bytes);
    }

    /** Permission bits of files that are created; 0600 unless said otherwise. */
    public Options fileMode(int mode) {
        return with(FILE_MODE, mode);
    }

    /** Whether a missing file is created, as by default. */
    public Options create(boolean isCreated) {
        return with(CREATE, isCreated ? 1 : 0);
    }

    /** Only reads. */
    public Options readOnly() {
        return with(OPEN_READ_ONLY, 1);
    }

    /** Shares the file with no other opening. */
    public Options exclusive() {
        return with(EXCLUSIVE, 1);
    }

    /** What commits wait for that do not say. */
    public Options durability(Durability durability) {
        return with(DURABILITY, durability.ordinal());
    }

    /** A lazy commit makes a checkpoint once so many bytes were written. */
    public Options flushAfterBytes(long bytes) {
        return with(FLUSH_AFTER_BYTES, bytes);
    }

    /** A lazy commit makes a checkpoint once something was unflushed for so long. */
    public Options flushAfter(Duration time) {
        return with(FLUSH_AFTER_MS, Clock.millis(time));
    }

    /** When checksums are verified. */
    public Options verify(Verify verify) {
        return with(VERIFY, verify.ordinal());
    }

    /** When the kernel reads ahead. */
    public Options readAhead(ReadAhead readAhead) {
        return with(READ_AHEAD, readAhead.ordinal());
    }

    /** For how long {@link Env#write()} waits; 30 seconds unless said otherwise. */
    public Options lockTimeout(Duration time) {
        return with(LOCK_TIMEOUT_MS, Clock.millis(time));
    }

    /**
     * A journal of so many bytes, 65536 to 64 GiB, of which 16 MiB is usual: a durable commit is
     * one append to a file beside the environment, which all threads and processes use. Until the
     * last of them closes, the two files belong together.
     */
    public Options journal(long bytes) {
        return with(JOURNAL_BYTES, bytes);
    }

    /** Opens a file whose journal is lost, without the commits that were in it alone. */
    public Options giveUpJournal() {
        return with(GIVE_UP_JOURNAL, 1);
    }

    /** Opens from the meta in slot 0, 1 or 2, whatever the others say: the last resort. */
    public Options metaSlot(int slot) {
        return with(META_SLOT, slot);
    }

    /** Takes durability and flushes over from the processes that have the file open. */
    public Options inheritDurability() {
        return with(INHERIT_DURABILITY, 1);
    }

    /** Asks about readers that keep pages from a writer that has no others left. */
    public Options onSlowReader(SlowReader.Handler handler) {
        return new Options(numbers, handler);
    }

    /** Opens with these: the library's options live for as long as that takes. */
    long open(MemorySegment path, MemorySegment slow, Arena arena) {
        MemorySegment number = arena.allocate(Native.LONG);
        done(call(Native.OPTIONS_NEW, number));
        long made = number.get(Native.LONG, 0);
        try {
            for (Map.Entry<Integer, Long> option : numbers.entrySet()) {
                done(call(Native.OPTIONS_SET, made, option.getKey(), option.getValue()));
            }
            if (slow != null) {
                MemorySegment none = MemorySegment.NULL;
                done(call(Native.OPTIONS_ON_SLOW_READER, made, slow, none));
            }
            done(call(Native.OPEN, path, made, number));
            return number.get(Native.LONG, 0);
        } finally {
            call(Native.OPTIONS_FREE, made);
        }
    }
}
