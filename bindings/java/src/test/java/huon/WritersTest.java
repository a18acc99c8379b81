package huon;

import static huon.Huon.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Write transactions: their turns, and their ends. */
@Timeout(60)
final class WritersTest {
    private static final byte[] A = utf8("a");

    /** The next writer begins while the one before it still makes its answer. */
    @Test
    void answersOfCommitsAreOfTheirTransactions() throws Exception {
        try (Env env = Huon.inMemory();
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            env.update(txn -> txn.createTable("t"));
            List<Future<Void>> writers = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                byte[] key = utf8("writer " + i);
                Callable<Void> work = () -> commitsOften(env, key);
                writers.add(threads.submit(work));
            }
            for (Future<Void> writer : writers) {
                writer.get();
            }
        }
    }

    private static Void commitsOften(Env env, byte[] key) {
        for (int i = 0; i < 2000; i++) {
            WriteTxn txn = env.write();
            txn.table("t").put(key, utf8("value " + i));
            long id = txn.id();
            if (i % 2 == 0) {
                assertEquals(id, txn.commit(Durability.LAZY));
            } else {
                try (Ticket ticket = txn.commitTicket()) {
                    assertEquals(id, ticket.id());
                }
            }
        }
        return null;
    }

    @Test
    void aThreadThatWaitsForItselfByAnotherOpening(@TempDir Path folder) {
        Path path = folder.resolve("x.huon");
        Options options = new Options().lockTimeout(Duration.ofSeconds(5));
        try (Env one = Huon.open(path, options);
                Env other = Huon.open(path, options);
                WriteTxn txn = one.write()) {
            HuonException e = assertThrows(HuonException.Busy.class, other::write);
            assertEquals(HuonException.Kind.THREAD_WRITES, e.kind());
            assertTrue(txn.isOpen());
        }
    }

    @Test
    void anInterruptedThreadWritesWhereItNeedNotWait() {
        try (Env env = Huon.inMemory()) {
            Thread.currentThread().interrupt();
            env.update(txn -> txn.createTable("t").put(A, A));
            env.tryWrite().orElseThrow().close();
            assertTrue(Thread.interrupted());
            assertTrue((boolean) env.viewAndGet(txn -> txn.table("t").contains(A)));
        }
    }

    @Test
    void aNestedTransactionThatCannotBeKept() {
        try (Env env = Huon.inMemory()) {
            env.update(
                    txn -> {
                        Table t = txn.createTable("t");
                        t.put(A, utf8("1"));
                        WriteTxn nested = txn.nested();
                        t.in(nested).put(A, utf8("2"));
                        List<Entry> unordered =
                                List.of(Entry.of(utf8("y"), A), Entry.of(utf8("x"), A));
                        assertThrows(
                                HuonException.class,
                                () -> nested.createTable("b").bulkAppend(unordered.iterator()));
                        HuonException e = assertThrows(HuonException.class, nested::commit);
                        assertEquals(HuonException.Kind.TXN_BROKEN, e.kind());
                        nested.close();
                        assertArrayEquals(utf8("1"), t.get(A));
                        t.put(A, utf8("3"));
                    });
            env.view(
                    txn -> {
                        assertArrayEquals(utf8("3"), txn.table("t").get(A));
                        assertFalse(txn.hasTable("b"));
                    });
        }
    }
}
