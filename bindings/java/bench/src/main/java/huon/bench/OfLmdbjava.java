package huon.bench;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.lmdbjava.Cursor;
import org.lmdbjava.CursorIterable;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.PutFlags;
import org.lmdbjava.Txn;

/** lmdbjava with its buffers by Unsafe, as it is fastest, and no checks. */
final class OfLmdbjava implements Store {
    private final Env<ByteBuffer> lazy;
    private final Dbi<ByteBuffer> table;
    private final Env<ByteBuffer> durable;
    private final Dbi<ByteBuffer> durableTable;
    private final byte[] bytes = new byte[KEY_BYTES];
    private final ByteBuffer key = ByteBuffer.allocateDirect(KEY_BYTES);
    private final ByteBuffer value = ByteBuffer.allocateDirect(VALUE_BYTES);

    OfLmdbjava(Path folder) {
        lazy = open(folder.resolve("lmdb"), EnvFlags.MDB_NOSYNC);
        table = lazy.openDbi("t", DbiFlags.MDB_CREATE);
        durable = open(folder.resolve("lmdb-durable"));
        durableTable = durable.openDbi("t", DbiFlags.MDB_CREATE);
    }

    private static Env<ByteBuffer> open(Path folder, EnvFlags... flags) {
        folder.toFile().mkdirs();
        return Env.create().setMapSize(4L << 30).setMaxDbs(4).open(folder.toFile(), flags);
    }

    private ByteBuffer key(int number) {
        Store.key(number, bytes);
        return key.clear().put(bytes).flip();
    }

    @Override
    public void put(int from, int to) {
        try (Txn<ByteBuffer> txn = lazy.txnWrite()) {
            for (int i = from; i < to; i++) {
                table.put(txn, key(i), value.clear(), new PutFlags[0]);
            }
            txn.commit();
        }
    }

    @Override
    public void putDurably(int number) {
        try (Txn<ByteBuffer> txn = durable.txnWrite()) {
            durableTable.put(txn, key(number), value.clear(), new PutFlags[0]);
            txn.commit();
        }
    }

    @Override
    public long get(int[] numbers) {
        long sum = 0;
        try (Txn<ByteBuffer> txn = lazy.txnRead()) {
            for (int number : numbers) {
                ByteBuffer view = table.get(txn, key(number));
                sum += view.get(0) + view.remaining();
            }
        }
        return sum;
    }

    @Override
    public long getCopies(int[] numbers) {
        long sum = 0;
        try (Txn<ByteBuffer> txn = lazy.txnRead()) {
            for (int number : numbers) {
                sum += copy(table.get(txn, key(number))).length;
            }
        }
        return sum;
    }

    private static byte[] copy(ByteBuffer from) {
        byte[] copy = new byte[from.remaining()];
        from.get(0, copy);
        return copy;
    }

    @Override
    public long getMany(int[] numbers) {
        return getCopies(numbers);
    }

    @Override
    public long scan() {
        long sum = 0;
        try (Txn<ByteBuffer> txn = lazy.txnRead();
                CursorIterable<ByteBuffer> all = table.iterate(txn)) {
            for (CursorIterable.KeyVal<ByteBuffer> pair : all) {
                sum += pair.val().get(0) + pair.key().remaining();
            }
        }
        return sum;
    }

    @Override
    public long scanByCursor() {
        long sum = 0;
        try (Txn<ByteBuffer> txn = lazy.txnRead();
                Cursor<ByteBuffer> cursor = table.openCursor(txn)) {
            while (cursor.next()) {
                sum += cursor.val().get(0) + cursor.key().remaining();
            }
        }
        return sum;
    }

    @Override
    public long scanCopies() {
        long sum = 0;
        try (Txn<ByteBuffer> txn = lazy.txnRead();
                Cursor<ByteBuffer> cursor = table.openCursor(txn)) {
            while (cursor.next()) {
                sum += copy(cursor.val()).length + copy(cursor.key()).length;
            }
        }
        return sum;
    }

    @Override
    public void close() {
        lazy.close();
        durable.close();
    }
}
