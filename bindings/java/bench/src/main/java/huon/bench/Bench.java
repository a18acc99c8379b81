package huon.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * Huon beside lmdbjava, in turns in one process: records of 16 + 100 bytes in hashed order. Of
 * each measurement the best of some rounds counts.
 *
 * <p>Arguments: how many records (a million), then the names of measurements (all).
 */
public final class Bench {
    private static final int PER_TXN = 1000;
    private static final int ROUNDS = 6;
    private static final boolean BY_THREAD = Boolean.getBoolean("huon.bench.thread");
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long WARM_UP_NANOS = 1_000_000_000;

    private final int records;
    private final List<String> only;
    private final Store huon;
    private final Store lmdb;

    private Bench(int records, List<String> only, Store huon, Store lmdb) {
        this.records = records;
        this.only = only;
        this.huon = huon;
        this.lmdb = lmdb;
    }

    public static void main(String[] args) throws IOException {
        int records = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
        List<String> only = List.of(args).subList(Math.min(1, args.length), args.length);
        Path folder = Files.createTempDirectory(Path.of("").toAbsolutePath(), "bench-");
        try (Store huon = new OfHuon(folder);
                Store lmdb = new OfLmdbjava(folder)) {
            new Bench(records, only, huon, lmdb).run();
        } finally {
            delete(folder);
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private void run() {
        System.out.printf("%-22s %10s %10s %8s%n", "ns a record", "lmdbjava", "Huon", "times");
        // The first puts of each store are slower than the rest: half of them warm up.
        int half = records / 2;
        load(huon, 0, half);
        load(lmdb, 0, half);
        double[] put = {load(lmdb, half, records), load(huon, half, records)};
        if (isWanted("put1000")) {
            print("put1000", put[0], put[1]);
        }
        int[] numbers = new Random(1).ints(records / 2, 0, records).toArray();
        int n = numbers.length;
        turns("get", n, () -> lmdb.get(numbers), () -> huon.get(numbers));
        turns("get, copied", n, () -> lmdb.getCopies(numbers), () -> huon.getCopies(numbers));
        turns("get_many", n, () -> lmdb.getMany(numbers), () -> huon.getMany(numbers));
        turns("scan", records, lmdb::scan, huon::scan);
        turns("scan by cursor", records, lmdb::scanByCursor, huon::scanByCursor);
        turns("fastest scan", records, lmdb::scanByCursor, huon::scan);
        turns("scan, copied", records, lmdb::scanCopies, huon::scanCopies);
        if (isWanted("durable put")) {
            durable();
        }
    }

    private boolean isWanted(String name) {
        return only.isEmpty() || only.contains(name);
    }

    /** On a machine that others use, what the thread has taken tells more than the clock. */
    private static long now() {
        return BY_THREAD ? THREADS.getCurrentThreadCpuTime() : System.nanoTime();
    }

    private static double load(Store store, int from, int to) {
        long start = now();
        for (int i = from; i < to; i += PER_TXN) {
            store.put(i, Math.min(to, i + PER_TXN));
        }
        return (now() - start) / (double) (to - from);
    }

    private void turns(String name, int count, LongSupplier lmdb, LongSupplier huon) {
        if (!isWanted(name)) {
            return;
        }
        warmUp(lmdb);
        warmUp(huon);
        double theirs = Double.MAX_VALUE;
        double ours = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            theirs = Math.min(theirs, time(lmdb, count));
            ours = Math.min(ours, time(huon, count));
        }
        print(name, theirs, ours);
    }

    /** Until the compiler has done all that it does. */
    private static void warmUp(LongSupplier work) {
        long end = System.nanoTime() + WARM_UP_NANOS;
        while (System.nanoTime() < end) {
            time(work, 1);
        }
    }

    private static double time(LongSupplier work, int count) {
        long start = now();
        if (work.getAsLong() == 0) {
            throw new AssertionError("nothing was read");
        }
        return (now() - start) / (double) count;
    }

    private void durable() {
        double theirs = Double.MAX_VALUE;
        double ours = Double.MAX_VALUE;
        for (int round = 0; round < 8; round++) {
            theirs = Math.min(theirs, durable(lmdb, records + 100 * round));
            ours = Math.min(ours, durable(huon, records + 100 * round));
        }
        print("durable put", theirs, ours);
    }

    private static double durable(Store store, int from) {
        long start = System.nanoTime();
        for (int i = from; i < from + 100; i++) {
            store.putDurably(i);
        }
        return (System.nanoTime() - start) / 100.0;
    }

    private static void print(String name, double theirs, double ours) {
        System.out.printf(
                Locale.ROOT, "%-22s %10.1f %10.1f %7.2fx%n", name, theirs, ours, theirs / ours);
    }
}
