package huon;

import static huon.Huon.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Handlers of slow readers: what they may do, and how long they live. */
@Timeout(60)
final class SlowReadersTest {
    private static final byte[] A = utf8("a");
    private static final byte[] LONG_KEY = utf8("a long key, which is written over what is put");
    private static final int MANY = 40;

    private final List<Runnable> uses = new ArrayList<>();
    private int asked;
    private ReadTxn reader;

    private Env small() {
        Options options =
                new Options().durability(Durability.LAZY).maxBytes(1 << 20).onSlowReader(this::use);
        Env env = Huon.inMemory(options);
        for (int i = 0; i < 2; i++) {
            env.update(txn -> txn.createTable("t").put(A, new byte[400_000]));
        }
        reader = env.read();
        env.update(txn -> txn.createTable("t").delete(A));
        return env;
    }

    /** Wrong use, then what makes room. */
    private SlowReader.Advice use(SlowReader slow) {
        asked++;
        for (Runnable use : uses) {
            assertThrows(IllegalStateException.class, use::run);
        }
        reader.close();
        return SlowReader.Advice.RETRY;
    }

    @Test
    void aHandlerThatUsesTheTransactionThatAsks() {
        byte[] value = new byte[300_000];
        Arrays.fill(value, (byte) 7);
        byte[][] keys = new byte[MANY][];
        byte[][] values = new byte[MANY][];
        for (int i = 0; i < MANY; i++) {
            keys[i] = utf8("key " + (100 + i));
            values[i] = new byte[16_000];
            Arrays.fill(values[i], (byte) i);
        }
        for (boolean isMany : new boolean[] {false, true}) {
            asked = 0;
            try (Env env = small();
                    WriteTxn txn = env.write()) {
                Table table = txn.table("t");
                uses.clear();
                uses.add(() -> table.get(LONG_KEY));
                uses.add(() -> table.put(LONG_KEY, LONG_KEY));
                uses.add(() -> table.entries().iterator().hasNext());
                uses.add(txn::commit);
                uses.add(txn::close);
                if (isMany) {
                    table.putMany(keys, values);
                } else {
                    table.put(A, value);
                    table.put(utf8("b"), value);
                }
                assertTrue(asked > 0);
                for (int i = 0; isMany && i < MANY; i++) {
                    assertArrayEquals(values[i], table.get(keys[i]));
                }
                if (!isMany) {
                    assertArrayEquals(value, table.get(A));
                    assertArrayEquals(value, table.get(utf8("b")));
                }
                assertEquals(isMany ? MANY : 2, table.count());
                txn.commit();
            }
        }
    }

    @Test
    void aHandlerThatEndsTheNestedTransactionThatAsks() {
        try (Env env = small();
                WriteTxn txn = env.write()) {
            WriteTxn nested = txn.nested();
            uses.add(nested::close);
            uses.add(nested::commit);
            nested.table("t").put(A, new byte[300_000]);
            nested.table("t").put(utf8("b"), new byte[300_000]);
            assertTrue(asked > 0);
            nested.commit();
            txn.commit();
        }
    }

    private static Options with(SlowReader.Handler handler) {
        return new Options().onSlowReader(handler);
    }

    private static WeakReference<?> opened(Path path, List<Lsm.Compactor> started) {
        SlowReader.Handler handler =
                new SlowReader.Handler() {
                    @Override
                    public SlowReader.Advice advise(SlowReader reader) {
                        return SlowReader.Advice.GIVE_UP;
                    }
                };
        try (Env env = Huon.open(path, with(handler))) {
            env.update(txn -> txn.createTable("t"));
            if (started != null) {
                started.add(env.lsm().startCompactor());
            }
        }
        return new WeakReference<>(handler);
    }

    private static void collect() throws InterruptedException {
        for (int i = 0; i < 10; i++) {
            System.gc();
            Thread.sleep(10);
        }
    }

    private static void eventuallyGone(WeakReference<?> handler) throws InterruptedException {
        for (int i = 0; i < 50 && handler.get() != null; i++) {
            collect();
        }
        assertNull(handler.get());
    }

    @Test
    void aHandlerGoesWithItsEnvironment(@TempDir Path folder) throws InterruptedException {
        eventuallyGone(opened(folder.resolve("x.huon"), null));
    }

    @Test
    void threadsThatCompactWorkAsLongAsTheEnvironmentIsKnown() throws InterruptedException {
        try (Env env = Huon.inMemory()) {
            WeakReference<?> compactor = new WeakReference<>(env.lsm().startCompactor());
            collect();
            assertNotNull(compactor.get());
        }
    }

    /** Threads that compact ask it too, whatever became of the object that started them. */
    @Test
    void aHandlerStaysForThreadsThatCompact(@TempDir Path folder) throws InterruptedException {
        List<Lsm.Compactor> started = new ArrayList<>();
        WeakReference<?> handler = opened(folder.resolve("x.huon"), started);
        collect();
        assertNotNull(handler.get());
        started.remove(0).close();
        eventuallyGone(handler);
    }
}
