package huon;

import static huon.Huon.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Wrong use is an exception: never a crash, a hang or a leak. */
@Timeout(60)
final class MisuseTest {
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final byte[] A = utf8("a");
    private static final Map<String, String> CREATED = Map.of("create", "true");
    private static final Class<IllegalStateException> STATE = IllegalStateException.class;

    private Env env;

    @BeforeEach
    void open() {
        env = Huon.inMemory();
        env.update(
                txn -> {
                    Table table = txn.createTable("t");
                    for (int i = 0; i < 200; i++) {
                        table.put(utf8("key " + (1000 + i)), utf8("value " + i));
                    }
                    table.put(A, utf8("1"));
                    txn.createMultimap("m").put(A, utf8("x"));
                });
    }

    @AfterEach
    void close() {
        env.close();
    }

    // After the end.

    @Test
    void everythingOfAReadTransactionAfterItsEnd() {
        ReadTxn txn = env.read();
        Table table = txn.table("t");
        Multimap multi = txn.multimap("m");
        MemorySegment view = table.view(A);
        ByteBuffer buffer = table.buffer(A);
        Entry entry = table.firstEntry();
        Cursor cursor = table.cursor();
        assertTrue(cursor.next());
        Entries entries = table.entries();
        Iterator<Entry> iterator = entries.iterator();
        Entry ahead = iterator.next();
        MemorySegment many = table.viewMany(new byte[][] {A})[0];
        txn.close();
        txn.close();
        assertFalse(txn.isOpen());

        List<Runnable> uses =
                List.of(
                        () -> table.get(A),
                        () -> table.get(MemorySegment.ofArray(A)),
                        () -> table.view(A),
                        () -> table.getMany(new byte[][] {A}),
                        () -> table.contains(A),
                        table::count,
                        table::firstEntry,
                        table::stat,
                        table::cursor,
                        () -> table.put(A, A),
                        () -> multi.put(A, A),
                        () -> multi.values(A).iterator(),
                        entries::iterator,
                        entries::stream,
                        () -> iterator.forEachRemaining(Entry::key),
                        ahead::key,
                        entry::value,
                        cursor::next,
                        cursor::key,
                        () -> view.get(BYTE, 0),
                        () -> many.get(BYTE, 0),
                        () -> buffer.get(0),
                        txn::tables,
                        txn::id,
                        txn::info,
                        txn::renew,
                        () -> txn.table("t"));
        for (int i = 0; i < uses.size(); i++) {
            assertThrows(STATE, uses.get(i)::run, "use " + i);
        }
        cursor.close();
        cursor.close();
    }

    @Test
    void everythingOfAWriteTransactionAfterItsEnd() {
        WriteTxn txn = env.write();
        Table table = txn.table("t");
        txn.commit();
        txn.close();
        assertThrows(STATE, txn::commit);
        assertThrows(STATE, () -> txn.commit(Durability.LAZY));
        assertThrows(STATE, txn::commitTicket);
        assertThrows(STATE, txn::nested);
        assertThrows(STATE, () -> table.put(A, A));
        assertThrows(STATE, () -> table.bulkAppend(List.<Entry>of().iterator()));
        assertThrows(STATE, () -> txn.createTable("u"));
        assertThrows(STATE, () -> txn.setMarkers(1, 2, 3));
    }

    @Test
    void anEnvironmentAfterItsEnd() {
        ReadTxn txn = env.read();
        WriteTxn writes = env.write();
        env.close();
        env.close();
        assertFalse(env.isOpen());
        assertThrows(STATE, env::read);
        assertThrows(STATE, env::write);
        assertThrows(STATE, env::sync);
        assertThrows(STATE, env::info);
        assertThrows(STATE, env::check);
        assertThrows(STATE, () -> env.waitForCommit(0, Duration.ofSeconds(9)));
        // Transactions stay good until they end.
        assertArrayEquals(utf8("1"), txn.table("t").get(A));
        writes.table("t").put(A, utf8("2"));
        writes.commit();
        txn.close();
    }

    @Test
    void aResetOrParkedTransaction() {
        try (ReadTxn txn = env.read()) {
            Table table = txn.table("t");
            MemorySegment view = table.view(A);
            txn.reset();
            assertThrows(STATE, () -> view.get(BYTE, 0));
            assertThrows(STATE, () -> table.get(A));
            txn.renew();
            assertArrayEquals(utf8("1"), table.get(A));
            MemorySegment second = table.view(A);
            txn.park();
            assertThrows(STATE, () -> second.get(BYTE, 0));
            assertThrows(STATE, () -> table.get(A));
            txn.unpark();
            assertArrayEquals(utf8("1"), table.get(A));
        }
    }

    @Test
    void viewsOfAWriteTransactionAfterAChange() {
        try (WriteTxn txn = env.write()) {
            Table table = txn.table("t");
            MemorySegment view = table.view(A);
            Entry entry = table.firstEntry();
            assertEquals('1', view.get(BYTE, 0));
            table.put(utf8("b"), A);
            assertThrows(STATE, () -> view.get(BYTE, 0));
            assertThrows(STATE, entry::key);
            // A view is a good argument of the very change that ends it.
            table.put(table.view(A), table.view(A));
            assertArrayEquals(utf8("1"), table.get(utf8("1")));
        }
    }

    @Test
    void writingIntoAView() {
        try (ReadTxn txn = env.read()) {
            Table table = txn.table("t");
            MemorySegment view = table.view(A);
            assertTrue(view.isReadOnly());
            assertThrows(IllegalArgumentException.class, () -> view.set(BYTE, 0, (byte) 1));
            assertThrows(ReadOnlyBufferException.class, () -> table.buffer(A).put(0, (byte) 1));
            assertThrows(IndexOutOfBoundsException.class, () -> view.get(BYTE, 1));
        }
    }

    @Test
    void changesInAReadTransaction() {
        try (ReadTxn txn = env.read()) {
            Table table = txn.table("t");
            assertThrows(STATE, () -> table.put(A, A));
            assertThrows(STATE, () -> table.delete(A));
            assertThrows(STATE, table::clear);
            assertThrows(STATE, () -> table.sequence(1));
            assertThrows(STATE, () -> txn.multimap("m").put(A, A));
        }
    }

    @Test
    void aParentWhileANestedTransactionIsOpen() {
        WriteTxn txn = env.write();
        Table table = txn.table("t");
        WriteTxn nested = txn.nested();
        assertThrows(STATE, () -> table.get(A));
        assertThrows(STATE, txn::commit);
        assertThrows(STATE, txn::nested);
        assertThrows(STATE, () -> nested.commit(Durability.LAZY));
        nested.table("t").put(A, utf8("2"));
        nested.close();
        assertThrows(STATE, nested::commit);
        assertArrayEquals(utf8("1"), table.get(A));
        WriteTxn second = txn.nested();
        WriteTxn third = second.nested();
        third.table("t").delete(A);
        txn.close();
        assertFalse(second.isOpen() || third.isOpen());
        assertTrue((boolean) env.viewAndGet(reads -> reads.table("t").contains(A)));
    }

    @Test
    void aChangeThatAReaderIsRefusedEndsNoViews() {
        for (ReadTxn txn : List.of(env.read(), env.readShared())) {
            try (txn) {
                Table table = txn.table("t");
                MemorySegment view = table.view(A);
                Entry entry = table.firstEntry();
                assertThrows(STATE, () -> table.put(A, A));
                assertThrows(STATE, () -> table.delete(MemorySegment.ofArray(A)));
                assertEquals('1', view.get(BYTE, 0));
                assertEquals("1", entry.valueText());
            }
        }
    }

    @Test
    void aSnapshotWhileItIsCopied() {
        for (ReadTxn txn : List.of(env.read(), env.readShared())) {
            try (txn) {
                Table table = txn.table("t");
                MemorySegment view = table.view(A);
                AtomicInteger told = new AtomicInteger();
                Progress uses =
                        (done, total) -> {
                            assertThrows(STATE, () -> table.get(A));
                            assertThrows(STATE, txn::renew);
                            assertThrows(STATE, txn::close);
                            return view.get(BYTE, 0) == '1' && told.incrementAndGet() > 0;
                        };
                env.copy().snapshot(txn).progress(uses).to(OutputStream.nullOutputStream());
                assertTrue(told.get() > 0);
                assertArrayEquals(utf8("1"), table.get(A));
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
        assertEquals(0, env.info().readers());
    }

    @Test
    void theStateOfATableThatIsGone() {
        try (WriteTxn txn = env.write()) {
            Table table = txn.table("t");
            table.rename("v");
            assertThrows(HuonException.TableNotFound.class, table::stat);
            txn.multimap("m").rename("t");
            assertThrows(HuonException.class, table::stat);
            Table again = txn.table("v");
            assertEquals(201, again.stat().entries());
            again.drop();
            assertThrows(HuonException.TableNotFound.class, again::stat);
        }
    }

    // Wrong arguments.

    @Test
    void namesThatCannotBeGiven(@TempDir Path folder) throws IOException {
        try (WriteTxn txn = env.write()) {
            String half = "\ud800";
            Class<IllegalArgumentException> argument = IllegalArgumentException.class;
            assertThrows(argument, () -> utf8(half));
            assertThrows(argument, () -> txn.createTable(half));
            assertThrows(argument, () -> txn.hasTable(half));
            assertThrows(argument, () -> txn.table("t").rename(half));
            assertEquals(List.of("m", "t"), txn.tables());
            txn.createTable("what? \ud83d\ude00");
            assertTrue(txn.hasTable("what? \ud83d\ude00"));
        }
        try (FileSystem zip = FileSystems.newFileSystem(folder.resolve("x.zip"), CREATED)) {
            Path path = zip.getPath("x.huon");
            Class<UnsupportedOperationException> unsupported = UnsupportedOperationException.class;
            assertThrows(unsupported, () -> Huon.open(path));
            assertThrows(unsupported, () -> Huon.delete(path));
            assertThrows(unsupported, () -> Huon.kindOf(path));
            assertThrows(unsupported, () -> env.copy().to(path));
        }
    }

    @Test
    void timesThatCannotBeGiven() {
        Duration past = Duration.ofMillis(-1);
        Duration century = Duration.ofSeconds(Long.MAX_VALUE);
        Class<IllegalArgumentException> argument = IllegalArgumentException.class;
        assertThrows(argument, () -> new Options().flushAfter(past));
        assertThrows(argument, () -> new Options().lockTimeout(past));
        assertThrows(argument, () -> env.setFlushAfter(past));
        assertThrows(argument, () -> env.setLockTimeout(past));
        assertThrows(argument, () -> env.compact(0, past, null));
        env.setLockTimeout(Duration.ofNanos(1));
        assertEquals(Duration.ofMillis(1), env.lockTimeout());
        env.setLockTimeout(century);
        env.setFlushAfter(century);
        env.update(txn -> txn.createTable("u"));
    }

    @Test
    void wrongArguments() {
        assertThrows(NullPointerException.class, () -> Huon.open(null));
        Options wrong = new Options().pageBytes(7);
        assertThrows(IllegalArgumentException.class, () -> Huon.inMemory(wrong));
        try (WriteTxn txn = env.write()) {
            Table table = txn.table("t");
            assertThrows(NullPointerException.class, () -> table.put(A, null));
            assertThrows(NullPointerException.class, () -> table.get((byte[]) null));
            assertThrows(NullPointerException.class, () -> table.getMany(new byte[][] {null}));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> table.putMany(new byte[2][1], new byte[1][1]));
            HuonException.Kind kind =
                    assertThrows(HuonException.class, () -> table.put(new byte[5000], A)).kind();
            assertEquals(HuonException.Kind.KEY_TOO_LONG, kind);
            Arena arena = Arena.ofConfined();
            MemorySegment gone = arena.allocate(8);
            arena.close();
            assertThrows(STATE, () -> table.put(gone, gone));
            assertThrows(HuonException.TableNotFound.class, () -> txn.table("none"));
            assertThrows(HuonException.class, () -> txn.multimap("t"));
            table.put(A, utf8("2"));
            txn.commit();
        }
        byte[] now = env.viewAndGet(txn -> txn.table("t").get(A));
        assertArrayEquals(utf8("2"), now);
    }

    // Threads.

    private static Throwable inAnotherThread(Runnable work) throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread thread =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    try {
                                        work.run();
                                    } catch (Throwable e) {
                                        thrown.set(e);
                                    }
                                });
        thread.join();
        return thrown.get();
    }

    @Test
    void transactionsOfAnotherThread() throws InterruptedException {
        try (ReadTxn txn = env.read();
                WriteTxn writes = env.write()) {
            Table table = txn.table("t");
            MemorySegment view = table.view(A);
            Iterator<Entry> iterator = table.entries().iterator();
            Entry entry = iterator.next();
            List<Runnable> uses =
                    List.of(
                            () -> table.get(A),
                            () -> view.get(BYTE, 0),
                            () -> iterator.forEachRemaining(Entry::key),
                            entry::key,
                            txn::close,
                            writes::commit,
                            writes::close,
                            writes::nested);
            for (Runnable use : uses) {
                assertEquals(WrongThreadException.class, inAnotherThread(use).getClass());
            }
            assertArrayEquals(utf8("1"), table.get(A));
            WriteTxn nested = writes.nested();
            Throwable thrown = inAnotherThread(writes::close);
            assertEquals(WrongThreadException.class, thrown.getClass());
            nested.close();
        }
    }

    @Test
    void aSharedTransactionThatEndsWhileOthersUseIt() throws Exception {
        for (int round = 0; round < 5; round++) {
            ReadTxn txn = env.readShared();
            Table table = txn.table("t");
            CountDownLatch running = new CountDownLatch(3);
            List<CompletableFuture<Integer>> readers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                readers.add(
                        CompletableFuture.supplyAsync(
                                () -> readUntilTheEnd(table, running),
                                task -> Thread.ofVirtual().start(task)));
            }
            running.await();
            Thread.sleep(1);
            // A view that is being read at this moment holds the end up; it is tried again then.
            while (txn.isOpen()) {
                try {
                    txn.close();
                } catch (IllegalStateException e) {
                    Thread.onSpinWait();
                }
            }
            for (CompletableFuture<Integer> reader : readers) {
                assertTrue(reader.get() > 0);
            }
        }
    }

    private static int readUntilTheEnd(Table table, CountDownLatch running) {
        for (int reads = 1; ; reads++) {
            try {
                assertArrayEquals(utf8("1"), table.get(A));
                assertEquals('1', table.view(A).get(BYTE, 0));
                int count = 0;
                for (Entry entry : table.entries()) {
                    count += entry.key().length > 0 ? 1 : 0;
                }
                assertEquals(201, count);
                if (reads == 1) {
                    running.countDown();
                }
            } catch (IllegalStateException e) {
                return reads;
            }
        }
    }

    @Test
    void aSecondWriteTransactionOfAThread() {
        try (WriteTxn txn = env.write()) {
            assertThrows(HuonException.Busy.class, env::write);
            assertTrue(env.tryWrite().isEmpty());
            assertTrue(txn.isOpen());
        }
        env.tryWrite().orElseThrow().close();
    }

    @Test
    void aWriterThatIsWaitedForAndAnInterrupt() throws Exception {
        try (WriteTxn txn = env.write()) {
            long start = System.nanoTime();
            Throwable late = inAnotherThread(() -> env.write(Duration.ofMillis(30)));
            assertEquals(HuonException.Busy.class, late.getClass());
            assertTrue(System.nanoTime() - start >= 30_000_000);
            assertInterrupted(Thread.ofPlatform(), () -> env.write(Duration.ofHours(1)));
            assertInterrupted(Thread.ofVirtual(), () -> env.write(Duration.ofHours(1)));
            assertTrue(txn.isOpen());
        }
    }

    @Test
    void aWriterOfAnotherOpeningIsWaitedForAndAnInterrupt(@TempDir Path folder)
            throws Exception {
        try (Env one = Huon.open(folder.resolve("x.huon"));
                Env other = Huon.open(folder.resolve("x.huon"))) {
            try (WriteTxn txn = one.write()) {
                assertInterrupted(Thread.ofPlatform(), () -> other.write(Duration.ofHours(1)));
                assertTrue(other.tryWrite().isEmpty());
                other.setLockTimeout(Duration.ofMillis(300));
                assertThrows(HuonException.Busy.class, other::write);
                assertTrue(txn.isOpen());
            }
            other.tryWrite().orElseThrow().close();
        }
    }

    private static void assertInterrupted(Thread.Builder builder, Runnable waits)
            throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        AtomicReference<Boolean> isInterrupted = new AtomicReference<>();
        Thread waiter =
                builder.start(
                        () -> {
                            try {
                                waits.run();
                            } catch (Throwable e) {
                                thrown.set(e);
                                isInterrupted.set(Thread.currentThread().isInterrupted());
                            }
                        });
        Thread.sleep(50);
        waiter.interrupt();
        waiter.join();
        assertEquals(HuonException.Interrupted.class, thrown.get().getClass());
        assertTrue(isInterrupted.get());
    }

    @Test
    void manyWritersOfVirtualThreads() throws Exception {
        List<Thread> threads = new ArrayList<>();
        AtomicInteger failed = new AtomicInteger();
        for (int i = 0; i < 200; i++) {
            byte[] key = utf8("writer " + i);
            Runnable work = () -> env.update(txn -> txn.table("t").put(key, A));
            Thread.Builder builder =
                    Thread.ofVirtual().uncaughtExceptionHandler((t, e) -> failed.incrementAndGet());
            threads.add(builder.start(work));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, failed.get());
        assertEquals(401, (long) env.viewAndGet(txn -> txn.table("t").count()));
    }

    // Things that are forgotten.

    private interface Check {
        boolean isTrue();
    }

    private static void eventually(Check check) throws InterruptedException {
        for (int i = 0; i < 500; i++) {
            System.gc();
            if (check.isTrue()) {
                return;
            }
            Thread.sleep(10);
        }
        assertTrue(check.isTrue());
    }

    private void forget(boolean writes) {
        Txn txn = writes ? env.write() : env.read();
        Cursor cursor = txn.table("t").cursor();
        assertTrue(cursor.next() && cursor.entry().keyBytes() == 1);
    }

    @Test
    void forgottenTransactionsAreEnded() throws InterruptedException {
        Runnable both = () -> {
            forget(false);
            forget(true);
        };
        Thread forgetful = Thread.ofPlatform().start(both);
        forgetful.join();
        assertEquals(1, env.info().readers());
        eventually(() -> env.info().readers() == 0);
        eventually(() -> {
            try (WriteTxn txn = env.tryWrite().orElse(null)) {
                return txn != null;
            }
        });
    }

    @Test
    void aViewKeepsItsForgottenTransaction() throws InterruptedException {
        ByteBuffer view = forgottenView();
        for (int i = 0; i < 8; i++) {
            System.gc();
            Thread.sleep(5);
            assertEquals('1', view.get(0));
        }
        assertEquals(1, env.info().readers());
        view = null;
        eventually(() -> env.info().readers() == 0);
    }

    private ByteBuffer forgottenView() {
        return env.read().table("t").buffer(A);
    }

    @Test
    void abandonedScansCostNothingForLong() {
        try (ReadTxn txn = env.read()) {
            Table table = txn.table("t");
            for (int i = 0; i < 20_000; i++) {
                Iterator<Entry> iterator = table.entries().iterator();
                assertTrue(iterator.hasNext());
            }
        }
    }

    @Test
    void roomsOfManyTransactionsAreNotKept() {
        List<Room> rooms = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            Room room = Room.take();
            room.key(new byte[500_000]);
            rooms.add(room);
        }
        rooms.forEach(Room::give);
        assertTrue(Room.spareBytes() <= 16 << 20);
    }

    @Test
    void transactionsByTheThousandLeaveNothing() {
        for (int i = 0; i < 50_000; i++) {
            try (ReadTxn txn = env.read()) {
                assertSame(env, txn.env());
            }
        }
        assertEquals(0, env.info().readers());
    }

    // Exceptions in callbacks.

    private static final class Mine extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    @Test
    void exceptionsInCallbacks() {
        assertThrows(Mine.class, () -> env.update(txn -> { throw new Mine(); }));
        IOException broken = new IOException("the pipe is broken");
        OutputStream output =
                new OutputStream() {
                    @Override
                    public void write(int b) throws IOException {
                        throw broken;
                    }
                };
        assertSame(broken, assertThrows(IOException.class, () -> env.copy().to(output)));
        assertThrows(Mine.class, () -> env.check((done, total) -> { throw new Mine(); }));
        Progress stops = (done, total) -> false;
        HuonException stopped = assertThrows(HuonException.class, () -> env.check(stops));
        assertEquals(HuonException.Kind.STOPPED, stopped.kind());
        assertThrows(StackOverflowError.class, () -> env.check((done, total) -> endless()));
        try (WriteTxn txn = env.write()) {
            Table table = txn.createTable("bulk");
            Iterator<Entry> throwing =
                    new Iterator<>() {
                        private int at;

                        @Override
                        public boolean hasNext() {
                            return true;
                        }

                        @Override
                        public Entry next() {
                            if (at++ == 3) {
                                throw new Mine();
                            }
                            return Entry.of(utf8("key " + at), A);
                        }
                    };
            assertThrows(Mine.class, () -> table.bulkAppend(throwing));
            assertThrows(HuonException.class, txn::commit);
        }
        assertFalse((boolean) env.viewAndGet(txn -> txn.hasTable("bulk")));
        assertTrue(env.check().isClean());
    }

    private static boolean endless() {
        return !endless();
    }

    @Test
    void aCallbackThatUsesWhatTheCallAroundItUses() {
        List<Consumer<Table>> uses =
                List.of(
                        table -> table.get(A),
                        table -> table.put(A, A),
                        table -> table.txn().close(),
                        table -> ((WriteTxn) table.txn()).commit());
        for (Consumer<Table> use : uses) {
            try (WriteTxn txn = env.write()) {
                Table table = txn.createTable("bulk");
                Iterator<Entry> wrong =
                        new Iterator<>() {
                            @Override
                            public boolean hasNext() {
                                use.accept(table);
                                return false;
                            }

                            @Override
                            public Entry next() {
                                return null;
                            }
                        };
                assertThrows(STATE, () -> table.bulkAppend(wrong));
                assertTrue(txn.isOpen());
            }
        }
        env.update(txn -> txn.table("t").put(A, utf8("3")));
    }

    @Test
    void exceptionsOfTicketsThatWereClosed() throws Exception {
        WriteTxn txn = env.write();
        txn.table("t").put(A, utf8("4"));
        Ticket ticket = txn.commitTicket();
        ticket.await();
        assertTrue(ticket.isDurable());
        ticket.close();
        ticket.close();
        assertThrows(STATE, ticket::isDurable);
        CompletableFuture<Void> other = CompletableFuture.runAsync(ticket::isDurable);
        assertThrows(ExecutionException.class, other::get);
    }
}
