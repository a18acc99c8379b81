package huon;

import static huon.Codes.done;
import static huon.Codes.is;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An open environment: a file with tables. All threads may use it, and any number of processes
 * may have the file open.
 *
 * <p>Closing it flushes. Transactions that are still open stay good, with the views that they have
 * shown, and the file is closed with the last of them.
 */
public final class Env implements AutoCloseable {
    private static final long SLICE_MS = 250;

    private final Handle handle;
    private final Cleaner.Cleanable cleanable;
    private final Writers writers = new Writers();
    /** What works by itself: it is not forgotten as long as this is known. */
    private final Set<Object> working = ConcurrentHashMap.newKeySet();
    /** As the library has it, which each write would have to ask else. */
    private volatile Duration lockTimeout;

    /** What is closed, once; it knows nothing of the environment's object. */
    private static final class Handle implements Runnable {
        private volatile long open;
        /** It is asked as long as the library has the environment open. */
        private final MemorySegment slow;
        private int answer;

        Handle(long open, MemorySegment slow) {
            this.open = open;
            this.slow = slow;
        }

        @Override
        public void run() {
            long closing = open;
            open = 0;
            if (closing != 0) {
                answer = call(Native.CLOSE, closing);
                Reference.reachabilityFence(slow);
            }
        }
    }

    /** Null for the path: in memory. */
    Env(String path, Options options) {
        MemorySegment slow = SlowReaders.function(options.onSlowReader, writers);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment at = path == null ? MemorySegment.NULL : arena.allocateFrom(path);
            handle = new Handle(options.open(at, slow, arena), slow);
        }
        cleanable = Core.clean(this, handle);
        lockTimeout = Duration.ofMillis(setting(Options.LOCK_TIMEOUT_MS));
    }

    /** What the library knows it by. */
    long handle() {
        long open = handle.open;
        if (open == 0) {
            throw new IllegalStateException("the environment is closed");
        }
        return open;
    }

    /** What else works in the environment has to keep this, until it has ended; or null. */
    MemorySegment slow() {
        return handle.slow;
    }

    Set<Object> working() {
        return working;
    }

    /** Flushes all commits, and closes it. Does nothing the second time. */
    @Override
    public synchronized void close() {
        if (handle.open != 0) {
            cleanable.clean();
            is(handle.answer, Codes.STILL_SHARED);
        }
    }

    /** The same without a flush, as if the process were killed. */
    public synchronized void closeWithoutFlush() {
        long closing = handle();
        handle.open = 0;
        done(call(Native.CLOSE_WITHOUT_FLUSH, closing));
    }

    /** Whether it can be used. */
    public boolean isOpen() {
        return handle.open != 0;
    }

    // Transactions.

    /** Begins a transaction that reads the newest commit. It waits for nothing. */
    public ReadTxn read() {
        return new ReadTxn(Core.reading(this, false));
    }

    /**
     * The same for all threads: their calls wait for each other, and to end it costs some ten
     * microseconds more. Each thread does best with its own.
     */
    public ReadTxn readShared() {
        return new ReadTxn(Core.reading(this, true));
    }

    /**
     * Begins a transaction that reads the snapshot of that name; {@link ReadTxn#renew} leads to the
     * newest commit.
     *
     * @throws HuonException.SnapshotNotFound if no snapshot has the name
     */
    public ReadTxn read(String snapshot) {
        return new ReadTxn(Core.reading(this, snapshot, false));
    }

    /** The same for all threads, as {@link #readShared()}. */
    public ReadTxn readShared(String snapshot) {
        return new ReadTxn(Core.reading(this, snapshot, true));
    }

    /**
     * Begins the one transaction that writes, and waits for another one's end, of any thread or
     * process, as {@link Options#lockTimeout} says.
     *
     * @throws HuonException.Interrupted if it is interrupted while it waits (it stays so)
     * @throws HuonException.Busy if that took too long, or if this thread has the write transaction
     */
    public WriteTxn write() {
        return write(lockTimeout());
    }

    /** The same, waiting for at most so long. */
    public WriteTxn write(Duration wait) {
        handle();
        return new WriteTxn(writers.begin(this, wait));
    }

    /** The same without waiting: empty if there is another one. */
    public Optional<WriteTxn> tryWrite() {
        try {
            return Optional.of(write(Duration.ZERO));
        } catch (HuonException.Busy e) {
            return Optional.empty();
        }
    }

    void writerEnded() {
        writers.ended();
    }

    /** Does something in a write transaction: commits it, or undoes it if that throws. */
    public <X extends Exception> void update(TxnAction<WriteTxn, X> action) throws X {
        try (WriteTxn txn = write()) {
            action.run(txn);
            txn.commit();
        }
    }

    /** The same with an answer. */
    public <R, X extends Exception> R updateAndGet(TxnFunction<WriteTxn, R, X> function)
            throws X {
        try (WriteTxn txn = write()) {
            R answer = function.apply(txn);
            txn.commit();
            return answer;
        }
    }

    /** Does something in a read transaction. */
    public <X extends Exception> void view(TxnAction<ReadTxn, X> action) throws X {
        try (ReadTxn txn = read()) {
            action.run(txn);
        }
    }

    /** The same with an answer, which must not be a view. */
    public <R, X extends Exception> R viewAndGet(TxnFunction<ReadTxn, R, X> function) throws X {
        try (ReadTxn txn = read()) {
            return function.apply(txn);
        }
    }

    // Snapshots that stay.

    /**
     * Gives the newest snapshot a name, and so keeps it in the file: for all processes and over
     * restarts, until {@link #dropSnapshot}. It costs at most one more copy of what it sees. One
     * that has the name so far is dropped. Copies and backups have no named snapshots.
     *
     * <p>It is a transaction of its own, which waits for another one's end as {@link #write()}
     * does; while it waits for one of another process, it hears of no interrupt.
     *
     * @param name a text of 1 to 255 bytes in UTF-8
     * @return which one it is
     * @throws IllegalArgumentException if the name is none, or if 1000 snapshots have names
     * @throws HuonException.Interrupted if it is interrupted while it waits (it stays so)
     * @throws HuonException.Busy if that took too long, or if this thread has the write transaction
     */
    public Snapshot nameSnapshot(String name) {
        return writers.alone(lockTimeout(), () -> Snapshots.name(this, name));
    }

    /**
     * Takes its name away from a snapshot, in a transaction as {@link #nameSnapshot}. What only it
     * saw is used again once that is durable and no transaction reads it.
     *
     * @return whether one had the name
     */
    public boolean dropSnapshot(String name) {
        return writers.alone(lockTimeout(), () -> Snapshots.drop(this, name));
    }

    /** The named snapshots, the oldest first. */
    public List<NamedSnapshot> snapshots() {
        return Snapshots.all(this);
    }

    // What commits wait for, and what waits for commits.

    /** Makes everything durable that was committed; the id of the newest durable snapshot. */
    public long sync() {
        return number(Native.SYNC);
    }

    /** Makes a checkpoint if the options ask for one by now; whether it did. */
    public boolean flushIfDue() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment flushed = arena.allocate(1);
            done(call(Native.FLUSH_IF_DUE, handle(), flushed));
            return flushed.get(Native.BOOL, 0);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Waits until there is a commit after this snapshot, of any thread or process. Hold no read
     * transaction meanwhile.
     *
     * @return the id of the newest one, or empty if there was none within that time
     */
    public Optional<Long> waitForCommit(long after, Duration wait) throws InterruptedException {
        long end = System.nanoTime() + Clock.nanos(wait);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment newest = arena.allocate(Native.LONG);
            while (true) {
                long left = Clock.millisUntil(end);
                long slice = Math.min(left, SLICE_MS);
                int code = call(Native.WAIT_FOR_COMMIT, handle(), after, slice, newest);
                if (is(code, Codes.TIMED_OUT)) {
                    return Optional.of(newest.get(Native.LONG, 0));
                }
                if (left <= 0) {
                    return Optional.empty();
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
            }
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    // Options that can be changed while it is open.

    /** What commits wait for that do not say. */
    public Durability durability() {
        return Durability.values()[(int) setting(Options.DURABILITY)];
    }

    /** Has commits wait for that. */
    public void setDurability(Durability durability) {
        set(Options.DURABILITY, durability.ordinal());
    }

    /** For how long {@link #write()} waits. */
    public Duration lockTimeout() {
        handle();
        return lockTimeout;
    }

    /** Has {@link #write()} wait for so long. */
    public void setLockTimeout(Duration wait) {
        set(Options.LOCK_TIMEOUT_MS, Clock.millis(wait));
        lockTimeout = Duration.ofMillis(setting(Options.LOCK_TIMEOUT_MS));
    }

    /** A lazy commit makes a checkpoint once so many bytes were written; 0: never. */
    public void setFlushAfterBytes(long bytes) {
        set(Options.FLUSH_AFTER_BYTES, bytes);
    }

    /** A lazy commit makes a checkpoint once something was unflushed for so long. */
    public void setFlushAfter(Duration time) {
        set(Options.FLUSH_AFTER_MS, Clock.millis(time));
    }

    /** Bytes of changed pages that the next write transactions keep in memory. */
    public void setWriteBufferBytes(long bytes) {
        set(Options.WRITE_BUFFER_BYTES, bytes);
    }

    /** When checksums are verified. */
    public void setVerify(Options.Verify verify) {
        set(Options.VERIFY, verify.ordinal());
    }

    /** Whether slow readers are asked about before the file grows. */
    public void setSlowReadersBeforeGrowing(boolean isBefore) {
        set(Options.SLOW_READERS_BEFORE_GROWING, isBefore ? 1 : 0);
    }

    private void set(int option, long value) {
        done(call(Native.SET, handle(), option, value));
        Reference.reachabilityFence(this);
    }

    private long setting(int option) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(Native.LONG);
            done(call(Native.SETTING, handle(), option, value));
            return value.get(Native.LONG, 0);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    // Its state, and its care.

    /** Its state. */
    public Info info() {
        return Reports.info(this);
    }

    /** Where its space is: reads the free list, and the list of tables. */
    public Stat stat() {
        return Reports.stat(this);
    }

    /** The read transactions of all processes, the oldest snapshot first. */
    public List<Reader> readers() {
        return Reports.readers(this);
    }

    /** The limits of the file's length. */
    public Geometry geometry() {
        return Reports.geometry(this);
    }

    /** Changes them, in a write transaction of its own. */
    public void setGeometry(Geometry geometry) {
        Reports.setGeometry(this, geometry);
    }

    /** Gives up the snapshots of readers whose processes have died; how many there were. */
    public int clearDeadReaders() {
        return (int) number(Native.CLEAR_DEAD_READERS);
    }

    /** A copy that is made while readers and writers go on. */
    public Copy copy() {
        return new Copy(this);
    }

    /** A backup that is made while readers and writers go on. */
    public Backup backup() {
        return new Backup(this);
    }

    /** Checks every page of every table. Damage is reported, and not thrown. */
    public CheckReport check() {
        return check(null);
    }

    /** The same; is told how far it is, and may end it. */
    public CheckReport check(Progress progress) {
        return Reports.check(this, progress);
    }

    /** Makes the file shorter where it is, in many small transactions, while others go on. */
    public CompactReport compact() {
        return compact(0, Duration.ZERO, null);
    }

    /**
     * The same.
     *
     * @param target it ends when the file is at most so many times as long as its live pages;
     *     0: 1.1
     * @param limit it ends after so long; zero: without end
     * @param progress is told how far it is, and may end it; or null
     */
    public CompactReport compact(double target, Duration limit, Progress progress) {
        return Reports.compact(this, target, limit, progress);
    }

    /** Its write-optimised tables. */
    public Lsm lsm() {
        return lsm(new LsmOptions());
    }

    /** The same with options. */
    public Lsm lsm(LsmOptions options) {
        return new Lsm(this, options);
    }

    /** How the snapshot that this opening started from was found. */
    public Recovery recovery() {
        return Recovery.values()[(int) number(Native.RECOVERY)];
    }

    /** How the snapshot was found that an opening starts from. */
    public enum Recovery {
        /** Nothing was ever committed to the file. */
        NEW,
        /** It was closed cleanly, or others have it open. */
        CLEAN,
        /** It was not, and the newest commit is there. */
        NEWEST,
        /** It was not; the newest flushed commit is there, and later ones may be missing. */
        FLUSHED,
        /** The newest flushed commit is damaged, and the one before it is there. */
        STEPPED_BACK,
        /** {@link Options#metaSlot} named what to start from. */
        BY_HAND,
        /** It was not, and commits that were durable in the journal were replayed: all of them. */
        REPLAYED,
        /**
         * It was not, and its journal is lost: the last checkpoint is there, as
         * {@link Options#giveUpJournal} allows. Commits that were durable are missing.
         */
        JOURNAL_GIVEN_UP
    }

    private long number(MethodHandle which) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(Native.LONG);
            done(call(which, handle(), number));
            return number.get(Native.LONG, 0);
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
