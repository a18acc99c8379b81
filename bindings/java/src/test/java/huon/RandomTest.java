package huon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Ranges, and changes in the midst of them, against a tree of the JDK. */
final class RandomTest {
    private static final int KEYS = 400;

    private final NavigableMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);

    private static byte[] key(Random random) {
        int number = random.nextInt(KEYS);
        byte[] key = new byte[random.nextInt(3) + 1];
        for (int i = 0; i < key.length; i++) {
            key[i] = (byte) (number >> 3 * i);
        }
        return key;
    }

    @Test
    void rangesBothWaysWhileRecordsChange() {
        for (int seed = 0; seed < 30; seed++) {
            Random random = new Random(seed);
            model.clear();
            try (Env env = Huon.inMemory(new Options().durability(Durability.LAZY))) {
                env.update(txn -> {
                    Table table = txn.createTable("t");
                    for (int i = 0; i < 300; i++) {
                        change(table, random);
                    }
                    for (int i = 0; i < 60; i++) {
                        scan(table, random, true);
                    }
                });
                try (ReadTxn txn = env.read()) {
                    for (int i = 0; i < 60; i++) {
                        scan(txn.table("t"), random, false);
                    }
                }
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
    }

    private void change(Table table, Random random) {
        byte[] key = key(random);
        if (random.nextInt(3) == 0) {
            assertEquals(model.remove(key) != null, table.delete(key));
        } else {
            byte[] value = new byte[random.nextInt(40)];
            random.nextBytes(value);
            table.put(key, value);
            model.put(key, value);
        }
    }

    /** Goes through a range; where it changes, what the model has next is looked up each time. */
    private void scan(Table table, Random random, boolean changes) {
        byte[] from = key(random);
        byte[] to = key(random);
        if (Arrays.compareUnsigned(from, to) > 0) {
            byte[] other = from;
            from = to;
            to = other;
        }
        int kind = random.nextInt(8);
        KeyRange range =
                switch (kind) {
                    case 0 -> KeyRange.all();
                    case 1 -> KeyRange.atLeast(from);
                    case 2 -> KeyRange.greaterThan(from);
                    case 3 -> KeyRange.atMost(to);
                    case 4 -> KeyRange.lessThan(to);
                    case 5 -> KeyRange.closed(from, to);
                    case 6 -> KeyRange.closedOpen(from, to);
                    default -> KeyRange.openClosed(from, to);
                };
        boolean isReversed = random.nextBoolean();
        boolean hasFrom = kind == 1 || kind == 2 || kind >= 5;
        boolean hasTo = kind >= 3;
        NavigableMap<byte[], byte[]> part = model;
        if (hasFrom) {
            part = part.tailMap(from, kind != 2 && kind != 7);
        }
        if (hasTo) {
            part = part.headMap(to, kind != 4 && kind != 6);
        }
        part = isReversed ? part.descendingMap() : part;

        Iterator<Entry> entries = table.range(isReversed ? range.reversed() : range).iterator();
        byte[] last = null;
        while (true) {
            Map.Entry<byte[], byte[]> next =
                    last == null ? part.firstEntry() : part.higherEntry(last);
            if (next == null) {
                assertFalse(entries.hasNext());
                break;
            }
            Entry entry = entries.next();
            assertArrayEquals(next.getKey(), entry.key());
            assertArrayEquals(next.getValue(), entry.value());
            last = next.getKey();
            if (changes && random.nextInt(10) == 0) {
                change(table, random);
            }
        }
        if (!changes) {
            assertEquals(part.size(), table.count(range));
        }
    }
}
