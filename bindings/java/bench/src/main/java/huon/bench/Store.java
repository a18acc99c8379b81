package huon.bench;

/** What is measured of a store. Keys are those of the numbers from 0 on, in hashed order. */
interface Store extends AutoCloseable {
    int KEY_BYTES = 16;
    int VALUE_BYTES = 100;

    /** Puts the records of these numbers in one transaction that waits for no flush. */
    void put(int from, int to);

    /** Puts a record in one durable transaction. */
    void putDurably(int number);

    /** Looks keys up one by one where they lie; a sum over the values. */
    long get(int[] numbers);

    /** The same, copied into an array each. */
    long getCopies(int[] numbers);

    /** The same, some dozens in a call where the store has that. */
    long getMany(int[] numbers);

    /** Goes through all records by the store's iterator; a sum over the values. */
    long scan();

    /** The same by what the store has that is fastest. */
    long scanByCursor();

    /** The same, keys and values copied into an array each. */
    long scanCopies();

    @Override
    void close();

    /** Sixteen bytes, of which two are not alike. */
    static void key(long number, byte[] to) {
        long hash = mix(number);
        for (int i = 0; i < 8; i++) {
            to[i] = (byte) (hash >>> (56 - 8 * i));
            to[8 + i] = (byte) (number >>> (56 - 8 * i));
        }
    }

    private static long mix(long number) {
        long z = (number + 1) * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
