package huon;

import static huon.Huon.utf8;
import static huon.Native.call;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Loops and cursors: what they hold, and what changes beside them do. */
@Timeout(60)
final class ScansTest {
    private Env env;

    @BeforeEach
    void open() {
        env = Huon.inMemory();
        env.update(
                txn -> {
                    Table table = txn.createTable("t");
                    for (int i = 0; i < 1000; i++) {
                        table.put(key(i), key(i));
                    }
                    Multimap multi = txn.createMultimap("m");
                    for (int i = 0; i < 100; i++) {
                        multi.put(utf8("one"), key(i));
                    }
                });
    }

    @AfterEach
    void close() {
        env.close();
    }

    private static byte[] key(int i) {
        return utf8("key " + (100_000 + i));
    }

    /** The place of a cursor that is opened now: the library has at least so many open, or had. */
    private static long place(Table table) {
        Core core = table.txn.core;
        MemorySegment all = MemorySegment.NULL;
        Codes.done(call(Native.CURSOR_OPEN, core.handle, table.words, all, core.room.number));
        long cursor = core.room.answer();
        call(Native.CURSOR_CLOSE, cursor);
        return cursor >>> 20 & (1 << 23) - 1;
    }

    @Test
    void loopsThatNeverBegin() {
        try (ReadTxn txn = env.read()) {
            Table table = txn.table("t");
            long before = place(table);
            for (int i = 0; i < 5000; i++) {
                table.entries().iterator();
                table.entries().stream();
                table.range(KeyRange.all().reversed()).spliterator();
            }
            assertTrue(place(table) < before + 1000);
        }
    }

    private static void eventuallyGone(WeakReference<?> what) throws InterruptedException {
        for (int i = 0; i < 500 && what.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertNull(what.get());
    }

    @Test
    void loopsAndCursorsOfAWriterAreNotKept() throws InterruptedException {
        try (WriteTxn txn = env.write()) {
            Table table = txn.table("t");
            eventuallyGone(loopTo(table, 1));
            eventuallyGone(loopTo(table, 100));
            eventuallyGone(loopTo(table, Integer.MAX_VALUE));
            eventuallyGone(cursor(table));
            table.delete(key(3));
        }
    }

    private static WeakReference<?> loopTo(Table table, int most) {
        Iterator<Entry> loop = table.entries().iterator();
        for (int i = 0; i < most && loop.hasNext(); i++) {
            loop.next();
        }
        return new WeakReference<>(loop);
    }

    private static WeakReference<?> cursor(Table table) {
        try (Cursor cursor = table.cursor()) {
            assertTrue(cursor.next());
            return new WeakReference<>(cursor);
        }
    }

    @Test
    void aLoopOfManyThreads() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            for (int round = 0; round < 500; round++) {
                try (ReadTxn txn = env.readShared()) {
                    Iterator<Entry> loop = txn.table("t").entries().iterator();
                    Callable<Void> work = () -> allAreWhole(loop);
                    List<Future<Void>> readers = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        readers.add(threads.submit(work));
                    }
                    for (Future<Void> reader : readers) {
                        reader.get();
                    }
                }
            }
        }
    }

    private static Void allAreWhole(Iterator<Entry> loop) {
        try {
            while (loop.hasNext()) {
                Entry entry = loop.next();
                assertEquals(10, entry.keyBytes());
                assertArrayEquals(entry.key(), entry.value());
            }
        } catch (NoSuchElementException e) {
            // Another thread was shown the last one.
        }
        return null;
    }

    @Test
    void aLoopThatChangesWhatItGoesThrough() {
        for (boolean isReversed : new boolean[] {false, true}) {
            try (WriteTxn txn = env.write()) {
                Table table = txn.table("t");
                KeyRange range = isReversed ? KeyRange.all().reversed() : KeyRange.all();
                int count = 0;
                for (Entry entry : table.range(range)) {
                    byte[] key = entry.key();
                    int number = isReversed ? 999 - count : count;
                    assertArrayEquals(key(number), key);
                    if (count % 3 == 0) {
                        table.delete(key);
                    } else {
                        table.put(key, utf8("again"));
                    }
                    count++;
                }
                assertEquals(1000, count);
                assertEquals(666, table.count());
            }
        }
    }

    @Test
    void aRecordThatIsPutBeforeTheNextOneIsShown() {
        try (WriteTxn txn = env.write()) {
            Table table = txn.table("t");
            Iterator<Entry> loop = table.entries().iterator();
            assertEquals("key 100000", loop.next().keyText());
            table.put(utf8("key 100000 and more"), utf8("x"));
            assertEquals("key 100000 and more", loop.next().keyText());
            table.delete(key(1));
            assertEquals("key 100002", loop.next().keyText());
            Multimap multi = txn.multimap("m");
            multi.put(utf8("two"), utf8("x"));
            for (Entry entry : multi.values(utf8("one"), true)) {
                multi.delete(utf8("one"), entry.value());
            }
            assertEquals("two", text(multi.entries()));
        }
    }

    private static String text(Entries entries) {
        return entries.stream().map(Entry::keyText).collect(Collectors.joining(" "));
    }

    @Test
    void aCursorDeletesAfterAnotherChange() {
        try (WriteTxn txn = env.write()) {
            Table table = txn.table("t");
            Table log = txn.createTable("log");
            try (Cursor cursor = table.cursor()) {
                while (cursor.next()) {
                    log.put(cursor.key(), cursor.value());
                    cursor.delete();
                    assertThrows(IllegalStateException.class, cursor::delete);
                }
            }
            assertEquals(0, table.count());
            assertEquals(1000, log.count());
            Multimap multi = txn.multimap("m");
            try (Cursor cursor = multi.cursor()) {
                while (cursor.next()) {
                    log.delete(cursor.value());
                    cursor.delete();
                }
            }
            assertEquals(0, multi.count());
            assertEquals(900, log.count());
        }
    }
}
