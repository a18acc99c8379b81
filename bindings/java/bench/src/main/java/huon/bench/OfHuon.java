package huon.bench;

import huon.Cursor;
import huon.Durability;
import huon.Entry;
import huon.Env;
import huon.Huon;
import huon.Options;
import huon.ReadTxn;
import huon.Table;
import huon.WriteTxn;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/** Huon, as its README says. */
final class OfHuon implements Store {
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final int BATCH = 64;

    private final Env env;
    /** A file of its own for durable puts, as lmdbjava has. */
    private final Env durable;
    private final byte[] key = new byte[KEY_BYTES];
    private final byte[] value = new byte[VALUE_BYTES];

    OfHuon(Path folder) {
        env = Huon.open(folder.resolve("data.huon"), new Options().durability(Durability.LAZY));
        env.update(txn -> txn.createTable("t"));
        durable = Huon.open(folder.resolve("durable.huon"));
        durable.update(txn -> txn.createTable("t"));
    }

    @Override
    public void put(int from, int to) {
        try (WriteTxn txn = env.write()) {
            Table table = txn.table("t");
            for (int i = from; i < to; i++) {
                Store.key(i, key);
                table.put(key, value);
            }
            txn.commit();
        }
    }

    @Override
    public void putDurably(int number) {
        try (WriteTxn txn = durable.write()) {
            Store.key(number, key);
            txn.table("t").put(key, value);
            txn.commit();
        }
    }

    @Override
    public long get(int[] numbers) {
        long sum = 0;
        try (ReadTxn txn = env.read()) {
            Table table = txn.table("t");
            for (int number : numbers) {
                Store.key(number, key);
                MemorySegment view = table.view(key);
                sum += view.get(BYTE, 0) + view.byteSize();
            }
        }
        return sum;
    }

    @Override
    public long getCopies(int[] numbers) {
        long sum = 0;
        try (ReadTxn txn = env.read()) {
            Table table = txn.table("t");
            for (int number : numbers) {
                Store.key(number, key);
                sum += table.get(key).length;
            }
        }
        return sum;
    }

    @Override
    public long getMany(int[] numbers) {
        long sum = 0;
        byte[][] keys = new byte[BATCH][KEY_BYTES];
        try (ReadTxn txn = env.read()) {
            Table table = txn.table("t");
            for (int at = 0; at + BATCH <= numbers.length; at += BATCH) {
                for (int i = 0; i < BATCH; i++) {
                    Store.key(numbers[at + i], keys[i]);
                }
                for (byte[] found : table.getMany(keys)) {
                    sum += found.length;
                }
            }
        }
        return sum;
    }

    @Override
    public long scan() {
        long sum = 0;
        try (ReadTxn txn = env.read()) {
            for (Entry entry : txn.table("t").entries()) {
                sum += entry.valueView().get(BYTE, 0) + entry.keyBytes();
            }
        }
        return sum;
    }

    @Override
    public long scanByCursor() {
        long sum = 0;
        try (ReadTxn txn = env.read();
                Cursor cursor = txn.table("t").cursor()) {
            while (cursor.next()) {
                sum += cursor.entry().valueView().get(BYTE, 0) + cursor.entry().keyBytes();
            }
        }
        return sum;
    }

    @Override
    public long scanCopies() {
        long sum = 0;
        try (ReadTxn txn = env.read()) {
            for (Entry entry : txn.table("t").entries()) {
                sum += entry.value().length + entry.key().length;
            }
        }
        return sum;
    }

    @Override
    public void close() {
        env.close();
        durable.close();
    }
}
