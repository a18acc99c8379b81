package huon;

import static huon.Huon.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Named snapshots: what they keep, and their turns among the writers. */
@Timeout(60)
final class SnapshotsTest {
    private static final byte[] KEY = utf8("key");

    @TempDir Path folder;

    private static void put(Env env, String value) {
        env.update(txn -> txn.createTable("t").put(KEY, utf8(value)));
    }

    private static void assertShows(ReadTxn txn, String value) {
        assertArrayEquals(utf8(value), txn.table("t").get(KEY));
    }

    @Test
    void aNamedSnapshotOutlivesARestart() {
        Path path = folder.resolve("x.huon");
        String name = "before\n\ud83d\ude00";
        Snapshot before;
        try (Env env = Huon.open(path)) {
            put(env, "old");
            before = env.nameSnapshot(name);
            put(env, "new");
        }
        try (Env env = Huon.open(path)) {
            assertEquals(List.of(new NamedSnapshot(name, before)), env.snapshots());
            try (ReadTxn txn = env.read(name)) {
                assertEquals(before.id(), txn.id());
                assertShows(txn, "old");
                assertThrows(IllegalStateException.class, () -> txn.table("t").put(KEY, KEY));
                txn.renew();
                assertShows(txn, "new");
            }
            try (ReadTxn txn = env.read(name)) {
                assertTrue(env.dropSnapshot(name));
                put(env, "newer");
                env.sync();
                put(env, "newest");
                assertShows(txn, "old");
            }
            assertFalse(env.dropSnapshot(name));
            assertEquals(List.of(), env.snapshots());
            assertTrue(env.check().isClean());
            assertEquals(0, env.info().readers());
        }
    }

    @Test
    void aNameMovesToTheNewestSnapshot() {
        try (Env env = Huon.inMemory()) {
            put(env, "1");
            Snapshot first = env.nameSnapshot("moves");
            // It was a commit that named the first.
            Snapshot second = env.nameSnapshot("stays");
            assertTrue(second.id() > first.id());
            NamedSnapshot moves = new NamedSnapshot("moves", first);
            NamedSnapshot stays = new NamedSnapshot("stays", second);
            assertEquals(List.of(moves, stays), env.snapshots());
            put(env, "2");
            moves = new NamedSnapshot("moves", env.nameSnapshot("moves"));
            assertEquals(List.of(stays, moves), env.snapshots());
            assertThrows(UnsupportedOperationException.class, () -> env.snapshots().clear());
        }
    }

    @Test
    void aNamedSnapshotForAllThreads() {
        try (Env env = Huon.inMemory()) {
            put(env, "old");
            env.nameSnapshot("n");
            put(env, "new");
            try (ReadTxn txn = env.readShared("n")) {
                CompletableFuture.runAsync(() -> assertShows(txn, "old")).join();
                assertShows(txn, "old");
            }
            try (ReadTxn txn = env.read("n")) {
                CompletionException e =
                        assertThrows(
                                CompletionException.class,
                                CompletableFuture.runAsync(() -> assertShows(txn, "old"))::join);
                assertEquals(WrongThreadException.class, e.getCause().getClass());
            }
        }
    }

    @Test
    void namesOfOneTo255Bytes() {
        Class<IllegalArgumentException> argument = IllegalArgumentException.class;
        try (Env env = Huon.inMemory()) {
            put(env, "1");
            String longest = "\u00e4".repeat(127) + "n";
            env.nameSnapshot(longest);
            for (String wrong : List.of("", longest + "n", "n".repeat(256), "\ud800")) {
                assertThrows(argument, () -> env.nameSnapshot(wrong), wrong);
            }
            assertThrows(argument, () -> env.dropSnapshot("\ud800"));
            assertThrows(argument, () -> env.read("\ud800"));
            assertThrows(NullPointerException.class, () -> env.nameSnapshot(null));
            assertThrows(NullPointerException.class, () -> env.dropSnapshot(null));
            assertThrows(NullPointerException.class, () -> env.read(null));
            assertEquals(1, env.snapshots().size());
            // None of that has kept the turn.
            put(env, "2");
            assertTrue(env.dropSnapshot(longest));
        }
    }

    @Test
    void aNameThatNoSnapshotHas() {
        try (Env env = Huon.inMemory()) {
            for (String none : List.of("none", "", "n".repeat(256), "what? \ud83d\ude00")) {
                assertFalse(env.dropSnapshot(none));
                HuonException.SnapshotNotFound e =
                        assertThrows(
                                HuonException.SnapshotNotFound.class, () -> env.read(none));
                assertEquals(HuonException.Kind.NOT_FOUND, e.kind());
                assertTrue(e.getMessage().contains("\"" + none + "\""), e.getMessage());
                assertThrows(
                        HuonException.SnapshotNotFound.class, () -> env.readShared(none));
            }
            assertEquals(0, env.info().readers());
        }
    }

    @Test
    void anEnvironmentThatIsClosedOrOnlyRead() {
        Path path = folder.resolve("x.huon");
        Env env = Huon.open(path);
        put(env, "1");
        Snapshot named = env.nameSnapshot("n");
        env.close();
        Class<IllegalStateException> state = IllegalStateException.class;
        assertThrows(state, () -> env.nameSnapshot("n"));
        assertThrows(state, () -> env.dropSnapshot("n"));
        assertThrows(state, () -> env.read("n"));
        assertThrows(state, () -> env.readShared("n"));
        assertThrows(state, env::snapshots);
        try (Env reads = Huon.open(path, new Options().readOnly())) {
            HuonException e = assertThrows(HuonException.class, () -> reads.nameSnapshot("m"));
            assertEquals(HuonException.Kind.READ_ONLY, e.kind());
            e = assertThrows(HuonException.class, () -> reads.dropSnapshot("n"));
            assertEquals(HuonException.Kind.READ_ONLY, e.kind());
            assertEquals(List.of(new NamedSnapshot("n", named)), reads.snapshots());
            try (ReadTxn txn = reads.read("n")) {
                assertShows(txn, "1");
            }
        }
    }

    // Turns.

    @Test
    void aThreadThatHasTheWriteTransaction() {
        try (Env env = Huon.inMemory();
                WriteTxn txn = env.write()) {
            assertThrows(HuonException.Busy.class, () -> env.nameSnapshot("n"));
            assertThrows(HuonException.Busy.class, () -> env.dropSnapshot("n"));
            assertTrue(txn.isOpen());
            txn.createTable("t").put(KEY, utf8("1"));
            txn.commit();
            env.nameSnapshot("n");
            put(env, "2");
        }
    }

    @Test
    void namingWaitsForItsTurn() throws Exception {
        try (Env env = Huon.inMemory();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            WriteTxn txn = env.write();
            txn.createTable("t").put(KEY, utf8("1"));
            CompletableFuture<Snapshot> named =
                    CompletableFuture.supplyAsync(() -> env.nameSnapshot("n"), threads);
            Thread.sleep(50);
            assertNull(named.getNow(null));
            long id = txn.commit(Durability.DURABLE);
            assertEquals(id, named.get().id());

            txn = env.write();
            env.setLockTimeout(Duration.ofMillis(30));
            CompletableFuture<Snapshot> late =
                    CompletableFuture.supplyAsync(() -> env.nameSnapshot("n"));
            CompletionException e = assertThrows(CompletionException.class, late::join);
            assertEquals(HuonException.Busy.class, e.getCause().getClass());
            txn.close();
            assertTrue(env.dropSnapshot("n"));
        }
    }

    @Test
    void anInterruptEndsTheWait() throws Exception {
        try (Env env = Huon.inMemory()) {
            WriteTxn txn = env.write();
            CompletableFuture<RuntimeException> thrown = new CompletableFuture<>();
            Runnable names =
                    () -> {
                        RuntimeException e =
                                assertThrows(
                                        HuonException.Busy.class, () -> env.nameSnapshot("n"));
                        assertTrue(Thread.currentThread().isInterrupted());
                        thrown.complete(e);
                    };
            Thread waiter = Thread.ofVirtual().start(names);
            Thread.sleep(50);
            waiter.interrupt();
            assertEquals(HuonException.Interrupted.class, thrown.get().getClass());
            txn.close();
        }
    }

    @Test
    void aWriterOfAnotherOpening() throws Exception {
        Path path = folder.resolve("x.huon");
        Options options = new Options().lockTimeout(Duration.ofMillis(900));
        try (Env one = Huon.open(path, options);
                Env other = Huon.open(path, options)) {
            try (WriteTxn txn = one.write()) {
                HuonException e =
                        assertThrows(HuonException.Busy.class, () -> other.nameSnapshot("n"));
                assertEquals(HuonException.Kind.THREAD_WRITES, e.kind());
                assertTrue(txn.isOpen());
            }
            CompletableFuture<Long> took = new CompletableFuture<>();
            Runnable waits =
                    () -> {
                        try (WriteTxn txn = one.write()) {
                            long start = System.nanoTime();
                            assertThrows(
                                    HuonException.Busy.class, () -> other.nameSnapshot("n"));
                            took.complete(System.nanoTime() - start);
                            assertTrue(txn.isOpen());
                        }
                    };
            // To the library it may be another one of its carrier's: it waits to the end.
            Thread.ofVirtual().start(waits);
            assertTrue(took.get() >= 900_000_000);
            other.nameSnapshot("n");
            assertEquals(other.snapshots(), one.snapshots());
        }
    }

    @Test
    void namesWhileOthersWrite() throws Exception {
        try (Env env = Huon.inMemory(new Options().durability(Durability.LAZY));
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            put(env, "0");
            CompletableFuture<?>[] all = new CompletableFuture<?>[4];
            for (int i = 0; i < 4; i++) {
                String name = "name " + i % 2;
                Runnable work = i < 2 ? () -> putOften(env) : () -> nameOften(env, name);
                all[i] = CompletableFuture.runAsync(work, threads);
            }
            CompletableFuture.allOf(all).get();
            assertEquals(2, env.snapshots().size());
            assertTrue(env.check().isClean());
        }
    }

    private static void putOften(Env env) {
        for (int i = 0; i < 300; i++) {
            put(env, "value " + i);
        }
    }

    private static void nameOften(Env env, String name) {
        for (int i = 0; i < 50; i++) {
            env.dropSnapshot(name);
            Snapshot named = env.nameSnapshot(name);
            try (ReadTxn txn = env.read(name)) {
                assertEquals(named.id(), txn.id());
            }
        }
    }
}
