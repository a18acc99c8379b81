package huon;

import static huon.Huon.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What there is, once each. */
final class ApiTest {
    private static final byte[] A = utf8("a");
    private static final byte[] B = utf8("b");
    private static final byte[] C = utf8("c");

    @TempDir Path folder;

    @Test
    void recordsAndTheirNeighbours() {
        try (Env env = Huon.inMemory();
                WriteTxn txn = env.write()) {
            Table t = txn.createTable("t");
            assertNull(t.firstEntry());
            t.put(A, utf8("1"));
            t.put(C, utf8("3"));
            assertEquals("a", t.firstEntry().keyText());
            assertEquals("3", t.lastEntry().valueText());
            assertEquals("c", t.ceilingEntry(B).keyText());
            assertEquals("a", t.floorEntry(B).keyText());
            assertNull(t.ceilingEntry(utf8("d")));
            assertFalse(t.putIfAbsent(A, B));
            assertTrue(t.putIfAbsent(B, utf8("2")));
            assertFalse(t.update(utf8("d"), A));
            assertTrue(t.update(B, utf8("22")));
            assertArrayEquals(utf8("22"), t.getAndPut(B, utf8("2")));
            assertNull(t.getAndPut(utf8("d"), utf8("4")));
            assertArrayEquals(utf8("4"), t.getAndDelete(utf8("d")));
            assertNull(t.getAndDelete(utf8("d")));
            assertEquals(ByteBuffer.wrap(utf8("2")), t.buffer(B));
            assertNull(t.view(utf8("d")));
            assertEquals(3, t.stat().entries());
            assertEquals("t", t.name());
            assertEquals("a", t.pollFirstEntry().keyText());
            Entry last = t.pollLastEntry();
            t.put(A, A);
            assertEquals("3", last.valueText());
            t.clear();
            assertNull(t.pollFirstEntry());
            assertTrue(t.drop());
            assertThrows(HuonException.TableNotFound.class, () -> t.get(A));
        }
    }

    @Test
    void compareAndSet() {
        try (Env env = Huon.inMemory();
                WriteTxn txn = env.write()) {
            Table t = txn.createTable("t");
            assertFalse(t.compareAndSet(A, B, C));
            assertTrue(t.compareAndSet(A, null, B));
            assertFalse(t.compareAndSet(A, null, C));
            assertFalse(t.compareAndSet(A, C, C));
            assertTrue(t.compareAndSet(A, B, C));
            assertArrayEquals(C, t.get(A));
            assertTrue(t.compareAndSet(A, C, null));
            assertFalse(t.contains(A));
        }
    }

    @Test
    void appendsSequencesAndNames() {
        try (Env env = Huon.inMemory();
                WriteTxn txn = env.write()) {
            Table t = txn.createTable("t");
            t.append(B, A);
            HuonException e = assertThrows(HuonException.class, () -> t.append(A, A));
            assertEquals(HuonException.Kind.KEY_OUT_OF_ORDER, e.kind());
            assertEquals(0, t.sequence(5));
            assertEquals(5, t.sequence(0));
            assertThrows(IllegalArgumentException.class, () -> t.sequence(-1));
            t.rename("\u00fc");
            assertTrue(txn.hasTable("\u00fc") && !txn.hasTable("t"));
            txn.createMultimap("m");
            assertEquals(List.of("m", "\u00fc"), txn.tables());
            txn.setMarkers(1, 2, 3);
            assertArrayEquals(new long[] {1, 2, 3}, txn.markers());
            txn.table("").put(A, B);
        }
    }

    @Test
    void bulkLoads() {
        try (Env env = Huon.inMemory()) {
            List<Entry> records = new ArrayList<>();
            for (int i = 0; i < 10_000; i++) {
                records.add(Entry.of(utf8(String.format("%08d", i)), new byte[i % 200]));
            }
            env.update(txn -> txn.createTable("t").bulkAppend(records.iterator()));
            // A table is copied by its entries, which are views.
            env.update(txn -> {
                try (ReadTxn reads = env.read()) {
                    txn.createTable("u").bulkAppend(reads.table("t").entries().iterator());
                }
            });
            try (ReadTxn txn = env.read()) {
                assertEquals(10_000, txn.table("u").count());
                assertEquals(199, txn.table("u").get(utf8("00009999")).length);
                KeyRange range = KeyRange.lessThan(utf8("00005000"));
                assertEquals(5_000, txn.table("u").count(range));
                assertTrue(txn.table("u").estimate(range) > 1_000);
            }
            assertTrue(env.check().isClean());
        }
    }

    @Test
    void manyAtOnce() {
        try (Env env = Huon.inMemory()) {
            byte[][] keys = new byte[3_000][];
            byte[][] values = new byte[3_000][];
            for (int i = 0; i < keys.length; i++) {
                keys[i] = utf8("key " + i);
                values[i] = new byte[i % 100 == 0 ? 100_000 : i % 50];
                Arrays.fill(values[i], (byte) i);
            }
            env.update(txn -> txn.createTable("t").putMany(keys, values));
            try (ReadTxn txn = env.read()) {
                keys[7] = utf8("none");
                values[7] = null;
                byte[][] found = txn.table("t").getMany(keys);
                for (int i = 0; i < keys.length; i++) {
                    assertArrayEquals(values[i], found[i]);
                }
                assertEquals(100_000, txn.table("t").viewMany(keys)[100].byteSize());
                assertEquals(0, txn.table("t").getMany(new byte[0][]).length);
            }
        }
    }

    @Test
    void cursors() {
        try (Env env = Huon.inMemory();
                WriteTxn txn = env.write()) {
            Multimap m = txn.createMultimap("m");
            for (String pair : List.of("a1", "a2", "b1", "d1", "d2")) {
                assertTrue(m.put(utf8(pair.substring(0, 1)), utf8(pair.substring(1))));
            }
            try (Cursor at = m.cursor()) {
                assertThrows(IllegalStateException.class, at::entry);
                assertTrue(at.first() && text(at).equals("a1"));
                assertTrue(at.nextKey() && text(at).equals("b1"));
                assertTrue(at.prev() && text(at).equals("a2"));
                assertFalse(at.prevKey());
                assertTrue(at.last() && text(at).equals("d2"));
                assertTrue(at.prevKey() && text(at).equals("b1"));
                assertTrue(at.seek(utf8("c")) && text(at).equals("d1"));
                assertTrue(at.seekBack(utf8("c")) && text(at).equals("b1"));
                assertTrue(at.seek(utf8("d"), utf8("2")) && text(at).equals("d2"));
                at.delete();
                assertThrows(IllegalStateException.class, at::key);
                assertFalse(at.next());
                assertTrue(at.prev() && text(at).equals("d1"));
                m.put(utf8("d"), utf8("0"));
                assertThrows(IllegalStateException.class, at::key);
                assertTrue(at.prev() && text(at).equals("d0"));
                assertFalse(at.seek(utf8("e")));
            }
            Table t = txn.createTable("t");
            t.put(A, B);
            try (Cursor at = t.cursor()) {
                assertTrue(at.next());
                at.delete();
                assertEquals(0, t.count());
            }
        }
    }

    private static String text(Cursor at) {
        return at.entry().keyText() + at.entry().valueText();
    }

    @Test
    void multimaps() {
        try (Env env = Huon.inMemory();
                WriteTxn txn = env.write()) {
            Multimap m = txn.createMultimap("m");
            assertNull(m.getFirst(A));
            assertTrue(m.putIfAbsent(A, utf8("2")));
            assertFalse(m.putIfAbsent(A, utf8("1")));
            assertTrue(m.put(A, utf8("1")) && !m.put(A, utf8("1")));
            assertArrayEquals(utf8("1"), m.getFirst(A));
            assertTrue(m.contains(A) && !m.contains(B));
            assertTrue(m.contains(A, utf8("2")) && !m.contains(A, utf8("3")));
            assertEquals(2, m.countValues(A));
            assertEquals(0, m.countValues(B));
            assertTrue(m.update(A, utf8("2"), utf8("3")) && !m.update(A, utf8("2"), B));
            assertEquals("13", values(m.values(A)));
            assertEquals("31", values(m.values(A, true)));
            m.append(B, utf8("9"));
            assertEquals(2, m.set(A, utf8("7")));
            assertEquals("79", values(m.entries()));
            assertEquals("97", values(m.range(KeyRange.all().reversed())));
            assertTrue(m.delete(B, utf8("9")) && !m.delete(B, utf8("9")));
            assertEquals(1, m.deleteAll(A));
            assertEquals(0, m.deleteAll(A));
            assertEquals(0, m.count());
            TableOptions fixed = new TableOptions().keys(TableOptions.Order.U64).valueBytes(8);
            Multimap f = txn.createMultimap("f", fixed);
            HuonException e = assertThrows(HuonException.class, () -> f.put(new byte[8], A));
            assertEquals(HuonException.Kind.VALUE_LENGTH, e.kind());
            assertTrue(f.put(new byte[8], new byte[8]));
            assertThrows(HuonException.class, () -> txn.multimap("f", new TableOptions()));
            assertEquals(1, txn.multimap("f", fixed).count());
        }
    }

    private static String values(Entries entries) {
        StringBuilder all = new StringBuilder();
        entries.forEach(entry -> all.append(entry.valueText()));
        return all.toString();
    }

    @Test
    void ordersOfKeys() {
        try (Env env = Huon.inMemory();
                WriteTxn txn = env.write()) {
            TableOptions numbers = new TableOptions().keys(TableOptions.Order.U32);
            Table t = txn.createTable("n", numbers);
            t.put(new byte[] {1, 0, 0, 0}, A);
            t.put(new byte[] {0, 1, 0, 0}, B);
            assertArrayEquals(A, t.firstEntry().value());
            assertThrows(HuonException.class, () -> t.put(A, A));
            HuonException e =
                    assertThrows(HuonException.class, () -> t.prefix(A).iterator().hasNext());
            assertEquals(HuonException.Kind.PREFIX_ORDER, e.kind());
            TableOptions stored = new TableOptions().keys(TableOptions.Order.STORED);
            assertEquals(2, txn.table("n", stored).count());
            assertThrows(HuonException.class, () -> txn.table("n"));
        }
    }

    @Test
    void nestedTransactions() {
        try (Env env = Huon.inMemory()) {
            env.update(
                    txn -> {
                        Table t = txn.createTable("t");
                        t.put(A, utf8("1"));
                        try (WriteTxn nested = txn.nested()) {
                            nested.table("t").put(B, utf8("2"));
                            try (WriteTxn third = nested.nested()) {
                                third.table("t").put(C, utf8("3"));
                            }
                            nested.commit();
                        }
                        assertTrue(t.contains(B) && !t.contains(C));
                        try (WriteTxn nested = txn.nested()) {
                            t.in(nested).delete(A);
                            nested.createTable("u");
                        }
                        assertTrue(t.contains(A) && !txn.hasTable("u"));
                    });
            assertEquals(2, (long) env.viewAndGet(txn -> txn.table("t").count()));
        }
    }

    @Test
    void transactionsOfActions() {
        try (Env env = Huon.inMemory()) {
            long id = env.updateAndGet(txn -> {
                txn.createTable("t");
                return txn.id();
            });
            assertThrows(IOException.class, () -> env.update(txn -> {
                txn.table("t").put(A, A);
                throw new IOException();
            }));
            env.view(txn -> assertEquals(id, txn.id()));
            assertEquals(0, (long) env.viewAndGet(txn -> txn.table("t").count()));
            try (WriteTxn txn = env.write()) {
                txn.table("t").put(A, A);
            }
            assertEquals(0, (long) env.viewAndGet(txn -> txn.table("t").count()));
        }
    }

    @Test
    void aJournal() throws Exception {
        Path path = folder.resolve("journal.huon");
        try (Env env = Huon.open(path, new Options().journal(1 << 16))) {
            assertEquals(JournalState.WAITING, env.info().journal());
            env.update(txn -> txn.createTable("t").put(A, A));
            env.update(txn -> txn.table("t").put(B, A));
            Info info = env.info();
            assertEquals(JournalState.RUNNING, info.journal());
            assertEquals(1 << 16, info.journalBytes());
            assertEquals(1, info.journalBatches());
            assertEquals(info.newest(), info.durable());
            assertTrue(info.journalCheckpoint() < info.durable());
        }
        try (Env env = Huon.open(path)) {
            assertEquals(JournalState.NONE, env.info().journal());
            assertEquals(2, (long) env.viewAndGet(txn -> txn.table("t").count()));
        }
    }

    @Test
    void durabilityAndWaiting() throws Exception {
        Path path = folder.resolve("x.huon");
        try (Env env = Huon.open(path, new Options().durability(Durability.LAZY))) {
            assertEquals(Env.Recovery.NEW, env.recovery());
            assertEquals(Durability.LAZY, env.durability());
            env.update(txn -> txn.createTable("t"));
            assertNotEquals(env.info().newest(), env.info().durable());
            WriteTxn txn = env.write();
            txn.table("t").put(A, A);
            long id = txn.commit(Durability.DURABLE);
            assertEquals(id, env.info().durable());
            WriteTxn second = env.write();
            second.table("t").put(B, A);
            try (Ticket ticket = second.commitTicket()) {
                assertTrue(ticket.id() > id && !ticket.isDurable());
                CompletableFuture.runAsync(env::sync).get();
                assertTrue(ticket.await(Duration.ofSeconds(10)));
            }
            CompletableFuture<Optional<Long>> next = CompletableFuture.supplyAsync(() -> {
                try {
                    return env.waitForCommit(env.info().newest(), Duration.ofSeconds(30));
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            assertTrue(env.waitForCommit(env.info().newest(), Duration.ofMillis(5)).isEmpty());
            env.update(later -> later.table("t").put(C, A));
            assertEquals(env.info().newest(), next.get().orElseThrow());
            assertFalse(env.flushIfDue());
            env.setFlushAfterBytes(1);
            env.setDurability(Durability.DURABLE);
            env.setLockTimeout(Duration.ofSeconds(1));
            assertEquals(Duration.ofSeconds(1), env.lockTimeout());
        }
        assertEquals(Huon.FileKind.ENVIRONMENT, Huon.kindOf(path));
        try (Env env = Huon.open(path, new Options().readOnly())) {
            assertEquals(Env.Recovery.CLEAN, env.recovery());
            HuonException e = assertThrows(HuonException.class, env::write);
            assertEquals(HuonException.Kind.READ_ONLY, e.kind());
            assertEquals(3, (long) env.viewAndGet(txn -> txn.table("t").count()));
        }
        assertTrue(Huon.delete(path));
        assertFalse(Huon.delete(path));
        HuonException e =
                assertThrows(
                        HuonException.class,
                        () -> Huon.open(folder.resolve("none"), new Options().create(false)));
        assertEquals(HuonException.Kind.IO, e.kind());
        assertEquals(2, e.system());
    }

    @Test
    void aFileOfAnotherKind() throws IOException {
        Path path = Files.write(folder.resolve("text"), new byte[9000]);
        HuonException e = assertThrows(HuonException.class, () -> Huon.open(path));
        assertEquals(HuonException.Kind.NOT_A_DATABASE, e.kind());
        assertTrue(e.getMessage().startsWith("huon_open: "), e.getMessage());
    }

    @Test
    void copiesChecksAndReports() throws IOException {
        Path path = folder.resolve("x.huon");
        try (Env env = Huon.open(path, new Options().durability(Durability.LAZY))) {
            env.update(txn -> {
                Table t = txn.createTable("t");
                for (int i = 0; i < 20_000; i++) {
                    t.put(utf8("key " + i), new byte[100]);
                }
            });
            List<Long> told = new ArrayList<>();
            try (ReadTxn snapshot = env.read()) {
                env.update(txn -> assertEquals(20_000, txn.table("t").deleteRange(KeyRange.all())));
                env.copy()
                        .compact()
                        .snapshot(snapshot)
                        .progress((done, total) -> told.add(done))
                        .to(folder.resolve("copy.huon"));
                assertEquals(1, env.readers().size());
                assertTrue(env.readers().get(0).pid() > 0);
                assertEquals(snapshot.id(), env.readers().get(0).txnid());
                assertTrue(snapshot.info().idsBehind() > 0);
            }
            assertFalse(told.isEmpty());
            try (Env copy = Huon.open(folder.resolve("copy.huon"))) {
                assertEquals(20_000, (long) copy.viewAndGet(txn -> txn.table("t").count()));
                assertTrue(copy.check().isClean());
                assertNotEquals(0, copy.info().uuid().getLeastSignificantBits());
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            CopyReport report = env.copy().to(bytes);
            assertEquals(report.bytes(), bytes.size());
            assertEquals(2, env.stat().tables());
            assertEquals(4096, env.info().pageBytes());
            CompactReport compacted = env.compact(1.0, Duration.ofSeconds(10), null);
            assertTrue(compacted.afterBytes() <= compacted.beforeBytes());
            Geometry geometry = env.geometry();
            Geometry less =
                    new Geometry(geometry.minBytes(), 1 << 30, geometry.growBytes(), 0);
            env.setGeometry(less);
            assertEquals(less, env.geometry());
            assertEquals(0, env.clearDeadReaders());
        }
    }

    @Test
    void damageIsReported() throws IOException {
        Path path = folder.resolve("x.huon");
        try (Env env = Huon.open(path)) {
            env.update(txn -> {
                Table t = txn.createTable("t");
                for (int i = 0; i < 2_000; i++) {
                    t.put(utf8("key " + i), new byte[100]);
                }
            });
        }
        byte[] bytes = Files.readAllBytes(path);
        for (int page = 8; page < 40; page++) {
            bytes[page * 4096 + 2000] ^= 1;
        }
        Files.write(path, bytes);
        try (Env env = Huon.open(path)) {
            CheckReport report = env.check();
            assertFalse(report.isClean());
            assertTrue(report.problems().get(0).contains("page"), report.problems().get(0));
            try (ReadTxn txn = env.read()) {
                HuonException.Corrupt e =
                        assertThrows(
                                HuonException.Corrupt.class,
                                () -> txn.table("t").entries().forEach(Entry::value));
                assertTrue(e.page() > 0);
            }
        }
    }

    /** The file as it is after a commit that is in the journal alone. */
    @Test
    void aJournalThatIsReplayed() throws IOException {
        Path path = folder.resolve("x.huon");
        Path journal = folder.resolve("x.huon-journal");
        Path torn = folder.resolve("torn.huon");
        try (Env env = Huon.open(path, new Options().journal(1 << 20))) {
            assertEquals(Env.Recovery.NEW, env.recovery());
            env.update(txn -> txn.createTable("t").put(A, A));
            env.update(txn -> txn.table("t").put(B, B));
            assertEquals(Huon.FileKind.JOURNAL, Huon.kindOf(journal));
            Files.copy(path, torn);
            Files.copy(journal, folder.resolve("torn.huon-journal"));
        }
        try (Env env = Huon.open(torn)) {
            assertEquals(Env.Recovery.REPLAYED, env.recovery());
            assertEquals(2, (long) env.viewAndGet(txn -> txn.table("t").count()));
        }
    }

    @Test
    void slowReadersAndFullFiles() {
        List<SlowReader> asked = new ArrayList<>();
        Options small =
                new Options()
                        .durability(Durability.LAZY)
                        .maxBytes(1 << 20)
                        .onSlowReader(
                                reader -> {
                                    asked.add(reader);
                                    return reader.isParked()
                                            ? SlowReader.Advice.EVICT
                                            : SlowReader.Advice.GIVE_UP;
                                });
        try (Env env = Huon.inMemory(small)) {
            env.update(txn -> txn.createTable("t"));
            fill(env, 2);
            try (ReadTxn reader = env.read()) {
                assertThrows(HuonException.MapFull.class, () -> fill(env, 3));
                assertTrue(asked.get(0).isOwn() && !asked.get(0).isParked());
                reader.park();
                fill(env, 3);
                assertThrows(HuonException.Evicted.class, reader::unpark);
            }
        }
        Options throwing =
                small.onSlowReader(
                        reader -> {
                            throw new IllegalStateException("of the handler");
                        });
        try (Env env = Huon.inMemory(throwing)) {
            env.update(txn -> txn.createTable("t"));
            fill(env, 2);
            try (ReadTxn reader = env.read()) {
                assertThrows(HuonException.MapFull.class, () -> fill(env, 3));
                assertTrue(reader.isOpen());
            }
            fill(env, 3);
        }
    }

    @Test
    void writeOptimisedTables() {
        try (Env env = Huon.inMemory();
                Lsm lsm = env.lsm(new LsmOptions().fan(4).small(16))) {
            LsmTable log = lsm.table("log");
            Lsm.Compactor compactor = lsm.startCompactor();
            for (int i = 0; i < 2_000; i += 100) {
                int from = i;
                env.update(txn -> {
                    for (int k = from; k < from + 100; k++) {
                        log.put(txn, utf8("key " + (k * 7919 % 2_000)), utf8("" + k));
                    }
                });
            }
            env.update(txn -> {
                assertFalse(log.putIfAbsent(txn, utf8("key 7"), A));
                assertTrue(log.update(txn, utf8("key 7"), A));
                log.delete(txn, utf8("key 8"));
                log.putUntil(txn, utf8("key 9"), A, Instant.EPOCH.minusSeconds(1));
                log.putUntil(txn, utf8("key 9"), A, Instant.MIN);
                log.putUntil(txn, utf8("key 7"), A, Instant.MAX);
                log.deleteRange(txn, KeyRange.prefix(utf8("key 1")));
                int seen = 0;
                for (Entry entry : log.entries(txn)) {
                    if (seen++ < 100) {
                        log.put(txn, entry.key(), B);
                    }
                }
                assertEquals(2_000 - 2 - 1_111, seen);
            });
            lsm.compact(Lsm.Work.ALL);
            try (ReadTxn txn = env.read()) {
                assertArrayEquals(A, log.get(txn, utf8("key 7")));
                assertNull(log.view(txn, utf8("key 8")));
                assertNull(log.get(txn, utf8("key 9")));
                assertArrayEquals(B, log.entries(txn).iterator().next().value());
                assertEquals(887, log.range(txn, KeyRange.all().reversed()).stream().count());
                assertTrue(log.stat(txn).records() >= 887);
                assertTrue(log.check(txn).isEmpty());
            }
            env.update(log::clear);
            log.close();
            assertThrows(IllegalStateException.class, () -> env.view(txn -> log.get(txn, A)));
            compactor.close();
        }
    }

    /** A reader that sees one of these keeps a third of the room that there is. */
    private static void fill(Env env, int commits) {
        for (int i = 0; i < commits; i++) {
            env.update(txn -> txn.table("t").put(A, new byte[400_000]));
        }
    }
}
