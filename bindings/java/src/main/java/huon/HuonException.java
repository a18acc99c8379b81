package huon;

import java.util.HashMap;
import java.util.Map;

/**
 * What went wrong in the library: which function, what, where, and what to do.
 *
 * <p>Wrong use of this interface is not one of these. It is an {@link IllegalStateException} for
 * what was closed or cannot be done now, an {@link IllegalArgumentException}, or a
 * {@link WrongThreadException}. What is not there is no error: it is {@code null} or {@code false}.
 * A table or a snapshot that is opened by its name has to be there.
 */
public class HuonException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** What went wrong. The numbers never change, and are those of the C interface. */
    public enum Kind {
        /** A key is longer than the page size allows: see {@link Info#keyBytesMax}. */
        KEY_TOO_LONG(1),
        /** A value is longer than 0x7FF00000 bytes. */
        VALUE_TOO_LONG(2),
        /** A key has a length that the order of its table does not allow. */
        KEY_LENGTH(3),
        /** What is appended does not come last. */
        KEY_OUT_OF_ORDER(4),
        /** There is no such table in this snapshot. */
        TABLE_NOT_FOUND(5),
        /** A table of that name is of another kind: a multimap or not, or of another order. */
        TABLE_KIND(6),
        /** A table of that name exists already. */
        TABLE_EXISTS(7),
        /** Stored bytes do not decode. */
        DECODE(8),
        /** The environment, or the file system below it, cannot be written. */
        READ_ONLY(9),
        /** The file has reached its maximum size; the message names the readers in the way. */
        MAP_FULL(11),
        /** An earlier failure left the transaction unusable: abort it. */
        TXN_BROKEN(12),
        /** A lock was not free in time; the message names its holder. */
        BUSY(13),
        /** The file is not one of Huon's; the message says what it is. */
        NOT_A_DATABASE(14),
        /** The file has a newer format. */
        VERSION_UNKNOWN(15),
        /** The file has another page size than was asked for. */
        PAGE_SIZE(16),
        /** A flush failed: what reached the disk is unknown. Close it everywhere, open it again. */
        POISONED(17),
        /** It was opened by the process that this one was forked from. */
        FORKED(18),
        /** The operating system returned an error: see {@link HuonException#system}. */
        IO(19),
        /** The file is damaged: see {@link HuonException#page}. */
        CORRUPT(20),
        /** This process has as many environments open as it can have. */
        ENVIRONMENTS_FULL(21),
        /** There is not enough memory outside of Java's heap. */
        OUT_OF_MEMORY(22),
        /** A value is longer than those of a multimap may be: as long as keys at most. */
        SORTED_VALUE_TOO_LONG(23),
        /** All values of this multimap have one length, and this one has another. */
        VALUE_LENGTH(24),
        /** A key has several values, and which one is meant was not said. */
        MANY_VALUES(25),
        /** The file is longer than the address space that was reserved: open it again. */
        MAP_TOO_SMALL(26),
        /** A writer needed the pages that a parked transaction kept: begin anew. */
        EVICTED(27),
        /** A comparator of another name orders the table. */
        WRONG_ORDER(28),
        /** This thread has the write transaction already. */
        THREAD_WRITES(29),
        /** A record of the main table has the name, or a table has it where a record was to be. */
        NAME_TAKEN(30),
        /** A comparator orders the table, which Java cannot give. */
        ORDER_UNKNOWN(31),
        /** Keys that begin alike do not lie together in this table. */
        PREFIX_ORDER(32),
        /** The main table holds named tables: drop those first. */
        TABLES_INSIDE(33),
        /** A key or a value could not be encoded. */
        ENCODE(34),
        /** Keys or values of the table are of another type. */
        TABLE_TYPE(35),
        /** The newest commits are in a journal that is lost, or not the one that goes with it. */
        JOURNAL(36),
        /** Changes do not follow the snapshot that is there. */
        DIVERGED(37),
        /** No snapshot has that name. */
        NOT_FOUND(-1),
        /** A bug in Huon, stopped at its border. */
        BUG(105),
        /** A callback asked to stop. */
        STOPPED(106),
        /** There are too many transactions, cursors or others open. */
        TOO_MANY(107),
        /** A number that this version does not know. */
        UNKNOWN(0);

        private static final Map<Integer, Kind> BY_CODE = new HashMap<>();

        static {
            for (Kind kind : values()) {
                BY_CODE.put(kind.code, kind);
            }
        }

        private final int code;

        Kind(int code) {
            this.code = code;
        }

        /** The number in the C interface. */
        public int code() {
            return code;
        }

        static Kind of(int code) {
            return BY_CODE.getOrDefault(code, UNKNOWN);
        }
    }

    /** The one write transaction is taken, or another lock. */
    public static sealed class Busy extends HuonException permits Interrupted {
        private static final long serialVersionUID = 1;

        Busy(Kind kind, String message) {
            super(kind, message, 0, -1);
        }
    }

    /** The thread was interrupted while it waited, and still is: to try again is in vain. */
    public static final class Interrupted extends Busy {
        private static final long serialVersionUID = 1;

        Interrupted() {
            super(Kind.BUSY, "interrupted while waiting for the write transaction");
        }
    }

    /** There is no such table in this snapshot. */
    public static final class TableNotFound extends HuonException {
        private static final long serialVersionUID = 1;

        TableNotFound(String message) {
            super(Kind.TABLE_NOT_FOUND, message, 0, -1);
        }
    }

    /** The file has reached its maximum size. */
    public static final class MapFull extends HuonException {
        private static final long serialVersionUID = 1;

        MapFull(String message) {
            super(Kind.MAP_FULL, message, 0, -1);
        }
    }

    /** A writer needed the pages that a parked transaction kept. */
    public static final class Evicted extends HuonException {
        private static final long serialVersionUID = 1;

        Evicted(String message) {
            super(Kind.EVICTED, message, 0, -1);
        }
    }

    /** A backup does not follow the one before: it is of another file, or one is missing. */
    public static final class Diverged extends HuonException {
        private static final long serialVersionUID = 1;

        Diverged(String message) {
            super(Kind.DIVERGED, message, 0, -1);
        }
    }

    /** No snapshot has that name. */
    public static final class SnapshotNotFound extends HuonException {
        private static final long serialVersionUID = 1;

        SnapshotNotFound(String name) {
            super(Kind.NOT_FOUND, "no snapshot has the name \"" + name + "\"", 0, -1);
        }
    }

    /** The file is damaged. */
    public static final class Corrupt extends HuonException {
        private static final long serialVersionUID = 1;

        Corrupt(String message, int system, long page) {
            super(Kind.CORRUPT, message, system, page);
        }
    }

    /** What went wrong. */
    private final Kind kind;

    /** The number of errno.h. */
    private final int system;

    /** The damaged page. */
    private final long page;

    HuonException(Kind kind, String message, int system, long page) {
        super(message);
        this.kind = kind;
        this.system = system;
        this.page = page;
    }

    /** What went wrong. */
    public Kind kind() {
        return kind;
    }

    /** The number of errno.h where the operating system refused something, or 0. */
    public int system() {
        return system;
    }

    /** The damaged page, or -1. */
    public long page() {
        return page;
    }
}
