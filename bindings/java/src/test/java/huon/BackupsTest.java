package huon;

import static huon.Huon.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Backups, and environments that are made of them. */
@Timeout(60)
final class BackupsTest {
    private static final byte[] KEY = utf8("key");
    private static final int RECORDS = 2_000;

    @TempDir Path folder;
    private Env env;

    /** Enough pages for a few pieces. */
    @BeforeEach
    void open() {
        env = Huon.open(at("x.huon"), new Options().durability(Durability.LAZY));
        env.update(
                txn -> {
                    Table t = txn.createTable("t");
                    for (int i = 0; i < RECORDS; i++) {
                        t.put(utf8("record " + i), new byte[500]);
                    }
                });
        put("old");
    }

    @AfterEach
    void close() {
        env.close();
    }

    private Path at(String name) {
        return folder.resolve(name);
    }

    private void put(String value) {
        env.update(txn -> txn.table("t").put(KEY, utf8(value)));
    }

    private byte[] bytes(Backup backup) throws IOException {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        BackupReport report = backup.to(output);
        assertEquals(report.bytes(), output.size());
        return output.toByteArray();
    }

    private void assertRestored(Path path, String value) {
        try (Env restored = Huon.open(path)) {
            assertTrue(restored.check().isClean());
            assertEquals(List.of(), restored.snapshots());
            try (ReadTxn txn = restored.read()) {
                assertArrayEquals(utf8(value), txn.table("t").get(KEY));
                assertEquals(RECORDS + 1, txn.table("t").count());
            }
        }
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    private static HuonException refused(Path path, Path... backups) {
        return assertThrows(
                HuonException.class, () -> Huon.restore(path, List.of(backups)));
    }

    // What there is.

    @Test
    void aWholeBackupAndTheOnesThatFollow() throws IOException {
        env.nameSnapshot("monday");
        put("new");
        List<Long> told = new ArrayList<>();
        Progress tells = (done, total) -> told.add(done);
        BackupReport one = env.backup().snapshot("monday").progress(tells).to(at("one"));
        assertEquals(env.snapshots().get(0).snapshot(), one.snapshot());
        assertNull(one.since());
        assertEquals(Files.size(at("one")), one.bytes());
        assertEquals(one.bytes(), told.get(told.size() - 1));

        BackupReport two = env.backup().since(one.snapshot()).to(at("two"));
        assertEquals(one.snapshot(), two.since());
        assertTrue(two.pages() > 0 && two.pages() < one.pages() / 4, two.toString());
        put("newest");
        BackupReport three = env.backup().since(two.snapshot()).to(at("three"));

        List<Path> all = List.of(at("one"), at("two"), at("three"));
        String[] values = {"old", "new", "newest"};
        BackupReport[] reports = {one, two, three};
        for (int i = 0; i < 3; i++) {
            Path path = at("restored" + i);
            assertEquals(reports[i].snapshot(), Huon.restore(path, all.subList(0, i + 1)));
            assertRestored(path, values[i]);
        }
    }

    @Test
    void filesChannelsAndStreamsGetTheSame() throws IOException {
        env.nameSnapshot("n");
        byte[] expected = bytes(env.backup().snapshot("n"));
        env.backup().snapshot("n").to(at("file"));
        assertArrayEquals(expected, Files.readAllBytes(at("file")));
        String permissions =
                PosixFilePermissions.toString(Files.getPosixFilePermissions(at("file")));
        assertEquals("rw-------", permissions);
        StandardOpenOption[] created = {StandardOpenOption.CREATE, StandardOpenOption.WRITE};
        try (FileChannel channel = FileChannel.open(at("channel"), created)) {
            env.backup().snapshot("n").to(channel);
            assertEquals(expected.length, channel.position());
        }
        assertArrayEquals(expected, Files.readAllBytes(at("channel")));
        Slow slow = new Slow();
        env.backup().snapshot("n").to(slow);
        assertArrayEquals(expected, slow.taken.toByteArray());
        assertTrue(slow.isOpen());
    }

    /** Takes less than it is given. */
    private static final class Slow implements WritableByteChannel {
        private final ByteArrayOutputStream taken = new ByteArrayOutputStream();
        private boolean isOpen = true;

        @Override
        public int write(ByteBuffer source) {
            byte[] some = new byte[Math.min(source.remaining(), 1000)];
            source.get(some);
            taken.writeBytes(some);
            return some.length;
        }

        @Override
        public boolean isOpen() {
            return isOpen;
        }

        @Override
        public void close() {
            isOpen = false;
        }
    }

    @Test
    void nothingHasChangedSince() throws IOException {
        Path file = at("one");
        BackupReport one = env.backup().to(file);
        BackupReport none = env.backup().since(one.snapshot()).to(at("none"));
        assertEquals(one.snapshot(), none.snapshot());
        assertTrue(none.pages() <= 1, none.toString());
        assertEquals(none.snapshot(), Huon.restore(at("y.huon"), List.of(file, at("none"))));
        BackupReport whole = env.backup().since(null).to(OutputStream.nullOutputStream());
        assertEquals(one, whole);
    }

    @Test
    void aBackupGoesOnWhileOthersWrite() throws IOException {
        Progress writes =
                (done, total) -> {
                    put("meanwhile");
                    return true;
                };
        env.backup().progress(writes).to(at("one"));
        Huon.restore(at("y.huon"), List.of(at("one")));
        assertRestored(at("y.huon"), "old");
        assertEquals(0, env.info().readers());
    }

    @Test
    void anEnvironmentInMemory() throws IOException {
        try (Env memory = Huon.inMemory()) {
            BackupReport empty = memory.backup().to(at("empty"));
            memory.update(txn -> txn.createTable("t").put(KEY, utf8("1")));
            memory.backup().since(empty.snapshot()).to(at("one"));
        }
        Huon.restore(at("y.huon"), List.of(at("empty"), at("one")));
        try (Env restored = Huon.open(at("y.huon"))) {
            assertArrayEquals(utf8("1"), restored.viewAndGet(txn -> txn.table("t").get(KEY)));
        }
    }

    // Wrong use of backups.

    @Test
    void aFileThatIsInTheWay() throws IOException {
        Path path = Files.writeString(at("one"), "mine");
        assertThrows(FileAlreadyExistsException.class, () -> env.backup().to(path));
        assertEquals("mine", Files.readString(path));
        Path nowhere = at("no folder").resolve("one");
        assertThrows(NoSuchFileException.class, () -> env.backup().to(nowhere));
        Map<String, String> create = Map.of("create", "true");
        try (FileSystem zip = FileSystems.newFileSystem(at("x.zip"), create)) {
            Class<UnsupportedOperationException> unsupported = UnsupportedOperationException.class;
            assertThrows(unsupported, () -> Huon.restore(zip.getPath("y.huon"), List.of(path)));
            List<Path> inside = List.of(zip.getPath("one"));
            assertThrows(unsupported, () -> Huon.restore(at("y.huon"), inside));
        }
    }

    @Test
    void snapshotsThatAreNot() throws IOException {
        List<String> before = files();
        OutputStream none = OutputStream.nullOutputStream();
        for (String name : List.of("other", "", "n".repeat(256))) {
            Class<HuonException.SnapshotNotFound> missing = HuonException.SnapshotNotFound.class;
            assertThrows(missing, () -> env.backup().snapshot(name).to(none));
            assertThrows(missing, () -> env.backup().snapshot(name).to(at("one")));
        }
        Snapshot now = env.backup().to(none).snapshot();
        Snapshot later = new Snapshot(now.id() + 1, now.checksum());
        Class<IllegalArgumentException> argument = IllegalArgumentException.class;
        assertThrows(argument, () -> env.backup().since(later).to(at("one")));
        assertThrows(argument, () -> env.backup().snapshot("\ud800").to(at("one")));
        assertEquals(before, files());
        // It may have been one of this file: whether it is shows when it is restored.
        Snapshot strange = new Snapshot(now.id(), now.checksum() + 1);
        env.backup().to(at("whole"));
        put("new");
        env.backup().since(strange).to(at("strange"));
        HuonException e = refused(at("y.huon"), at("whole"), at("strange"));
        assertEquals(HuonException.Diverged.class, e.getClass());
        assertEquals(HuonException.Kind.DIVERGED, e.kind());
        assertFalse(Files.exists(at("y.huon")));
    }

    @Test
    void aClosedEnvironment() throws IOException {
        Backup backup = env.backup();
        env.close();
        List<String> before = files();
        Class<IllegalStateException> state = IllegalStateException.class;
        assertThrows(state, () -> backup.to(OutputStream.nullOutputStream()));
        assertThrows(state, () -> backup.to(at("one")));
        assertThrows(state, () -> backup.snapshot("n").to(at("one")));
        assertEquals(before, files());
    }

    private static final class Mine extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** Refuses what comes after so many bytes, in a new way each time. */
    private static final class Breaks extends OutputStream {
        private final IOException first = new IOException("the pipe is broken");
        private long left;
        private int refused;

        Breaks(long left) {
            this.left = left;
        }

        @Override
        public void write(int one) throws IOException {
            if (left-- <= 0) {
                throw refused++ == 0 ? first : new IOException("once more");
            }
        }
    }

    @Test
    void whatTheCallersCodeThrowsIsThrown() throws IOException {
        List<String> before = files();
        for (long bytes : new long[] {0, 32, 5000, 200_000}) {
            Breaks breaks = new Breaks(bytes);
            IOException e = assertThrows(IOException.class, () -> env.backup().to(breaks));
            assertSame(breaks.first, e);
            assertEquals(1, breaks.refused);
        }
        Progress throwing =
                (done, total) -> {
                    throw new Mine();
                };
        Progress endless = (done, total) -> endless();
        Progress stops = (done, total) -> false;
        OutputStream none = OutputStream.nullOutputStream();
        assertThrows(Mine.class, () -> env.backup().progress(throwing).to(none));
        assertThrows(Mine.class, () -> env.backup().progress(throwing).to(at("one")));
        assertThrows(StackOverflowError.class, () -> env.backup().progress(endless).to(none));
        HuonException e =
                assertThrows(HuonException.class, () -> env.backup().progress(stops).to(at("one")));
        assertEquals(HuonException.Kind.STOPPED, e.kind());
        FileChannel closed = FileChannel.open(at("x.huon"), StandardOpenOption.READ);
        closed.close();
        assertThrows(ClosedChannelException.class, () -> env.backup().to(closed));
        assertThrows(NullPointerException.class, () -> env.backup().to((OutputStream) null));
        assertThrows(NullPointerException.class, () -> env.backup().to((Path) null));
        assertEquals(before, files());
        assertEquals(0, env.info().readers());
        put("goes on");
    }

    private static boolean endless() {
        return !endless();
    }

    @Test
    void anInterruptEndsABackupToAFile() throws IOException {
        List<String> before = files();
        Thread.currentThread().interrupt();
        assertThrows(ClosedChannelException.class, () -> env.backup().to(at("one")));
        assertTrue(Thread.interrupted());
        assertEquals(before, files());
    }

    @Test
    void aStreamThatUsesTheEnvironment() throws IOException {
        OutputStream uses =
                new OutputStream() {
                    @Override
                    public void write(int one) {
                        throw new AssertionError();
                    }

                    @Override
                    public void write(byte[] bytes, int offset, int count) {
                        put("meanwhile");
                        env.nameSnapshot("meanwhile");
                    }
                };
        env.backup().to(uses);
        assertEquals("meanwhile", env.snapshots().get(0).name());
    }

    // Wrong use of restores.

    @Test
    void restoresThatAreRefused() throws IOException {
        BackupReport one = env.backup().to(at("one"));
        put("new");
        env.backup().since(one.snapshot()).to(at("two"));
        byte[] open = Files.readAllBytes(at("x.huon"));
        HuonException e = refused(at("x.huon"), at("one"));
        assertEquals(HuonException.Kind.IO, e.kind());
        assertEquals(17, e.system());
        assertArrayEquals(open, Files.readAllBytes(at("x.huon")));

        List<String> before = files();
        assertEquals(HuonException.Diverged.class, refused(at("y.huon"), at("two")).getClass());
        e = refused(at("y.huon"), at("one"), at("one"));
        assertEquals(HuonException.Diverged.class, e.getClass());
        e = refused(at("y.huon"), at("one"), at("none"));
        assertEquals(HuonException.Kind.IO, e.kind());
        assertEquals(2, e.system());
        assertTrue(e.getMessage().contains(at("none").toString()), e.getMessage());
        e = refused(at("y.huon"), at("x.huon"));
        assertEquals(HuonException.Kind.NOT_A_DATABASE, e.kind());
        e = refused(at("no folder").resolve("y.huon"), at("one"));
        assertEquals(HuonException.Kind.IO, e.kind());
        Path none = at("y.huon");
        assertThrows(IllegalArgumentException.class, () -> Huon.restore(none, List.of()));
        List<Path> withNull = Arrays.asList(at("one"), null);
        assertThrows(NullPointerException.class, () -> Huon.restore(none, withNull));
        assertThrows(NullPointerException.class, () -> Huon.restore(null, List.of(at("one"))));
        assertThrows(NullPointerException.class, () -> Huon.restore(none, null));
        assertEquals(before, files());
    }

    @Test
    void aBackupThatIsCutOrDamaged() throws IOException {
        byte[] whole = bytes(env.backup());
        Path path = Files.write(at("backup"), whole);
        List<String> before = files();
        for (int cut : new int[] {0, 31, 32, 4128, 4140, whole.length / 2, whole.length - 1}) {
            Files.write(path, Arrays.copyOf(whole, cut));
            HuonException e = refused(at("y.huon"), path);
            assertEquals(HuonException.Kind.IO, e.kind(), "cut at " + cut);
            assertEquals(before, files());
        }
        for (int at : new int[] {0, 8, 16, 40, 4132, 4200, whole.length / 2, whole.length - 1}) {
            byte[] damaged = whole.clone();
            damaged[at] ^= 0x10;
            Files.write(path, damaged);
            refused(at("y.huon"), path);
            assertEquals(before, files());
        }
        Files.write(path, whole);
        Huon.restore(at("y.huon"), List.of(path));
        assertRestored(at("y.huon"), "old");
    }

    /** It is found when the file is verified. */
    @Test
    void aPageThatIsMissingWithItsFrame() throws IOException {
        byte[] whole = bytes(env.backup());
        int frames = 32 + 4096;
        ByteBuffer head = ByteBuffer.wrap(whole, frames, 16).order(ByteOrder.LITTLE_ENDIAN);
        head.getInt();
        int second = frames + 16 + 4096 * head.getInt();
        ByteArrayOutputStream without = new ByteArrayOutputStream();
        without.write(whole, 0, frames);
        without.write(whole, second, whole.length - second);
        Path path = Files.write(at("backup"), without.toByteArray());
        assertEquals(HuonException.Corrupt.class, refused(at("y.huon"), path).getClass());
        assertFalse(Files.exists(at("y.huon")));
    }
}
