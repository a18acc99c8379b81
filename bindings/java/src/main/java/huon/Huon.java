package huon;

import static huon.Codes.done;
import static huon.Codes.found;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * Huon: an embedded, transactional, ordered key-value store in one memory-mapped file.
 *
 * <pre>{@code
 * try (Env env = Huon.open(Path.of("people.huon"))) {
 *     env.update(txn -> txn.createTable("ages").put(utf8("ada"), utf8("36")));
 *     try (ReadTxn txn = env.read()) {
 *         for (Entry entry : txn.table("ages").prefix(utf8("a"))) {
 *             System.out.println(entry.keyText() + " is " + entry.valueText());
 *         }
 *     }
 * }
 * }</pre>
 */
public final class Huon {
    /** What a file is. */
    public enum FileKind {
        /** Something else, or nothing. */
        OTHER,
        /** An environment, be it a damaged one. */
        ENVIRONMENT,
        /** The lock file of one. */
        LOCK_FILE,
        /** A file of another store that is known. */
        KNOWN,
        /** The journal of an environment. */
        JOURNAL
    }

    private Huon() {}

    /** Opens the environment at a path, and creates it if it is missing. */
    public static Env open(Path path) {
        return open(path, new Options());
    }

    /** The same with options. */
    public static Env open(Path path, Options options) {
        return new Env(text(path), options);
    }

    /** An environment of this process that leaves no file behind, as for tests. */
    public static Env inMemory() {
        return inMemory(new Options());
    }

    /** The same with options. */
    public static Env inMemory(Options options) {
        return new Env(null, options);
    }

    /** Deletes the files of an environment, which must be open nowhere; false if there are none. */
    public static boolean delete(Path path) {
        try (Arena arena = Arena.ofConfined()) {
            return found(call(Native.DELETE, arena.allocateFrom(text(path))));
        }
    }

    /** What a file is. Reads its first bytes, and changes nothing. */
    public static FileKind kindOf(Path path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment kind = arena.allocate(Native.INT);
            done(call(Native.KIND_OF, arena.allocateFrom(text(path)), kind));
            return FileKind.values()[kind.get(Native.INT, 0)];
        }
    }

    /**
     * Makes an environment of a whole backup and those that follow it, in their order: see
     * {@link Env#backup}. It has its name once every page was verified and flushed; nothing is left
     * behind if that fails.
     *
     * <p>Fails with {@link HuonException.Kind#IO} if the environment exists, or if a backup cannot
     * be read, is cut or damaged; with {@link HuonException.Corrupt} if a page of it is.
     *
     * @return the snapshot that it has
     * @throws HuonException.Diverged if a backup does not follow the one before
     */
    public static Snapshot restore(Path path, List<Path> backups) {
        return Snapshots.restore(path, backups);
    }

    /** The version of the library, as "0.1.0". */
    public static String version() {
        int version = call(Native.VERSION);
        return (version >> 16) + "." + (version >> 8 & 0xFF) + "." + (version & 0xFF);
    }

    /** A path as the operating system takes it: those of archives and the like are none. */
    static String text(Path path) {
        return path.toFile().getPath();
    }

    /**
     * The bytes of a text, for keys and values.
     *
     * @throws IllegalArgumentException if half a surrogate pair is in it, which has none
     */
    public static byte[] utf8(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (byte one : bytes) {
            if (one == '?') {
                checkWhole(text, bytes);
                break;
            }
        }
        return bytes;
    }

    /** What has no bytes was replaced by question marks. */
    private static void checkWhole(String text, byte[] bytes) {
        if (!text.equals(new String(bytes, StandardCharsets.UTF_8))) {
            throw new IllegalArgumentException("half a surrogate pair is in " + text);
        }
    }
}
