package huon;

import static huon.Native.POINTER;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The codes that functions of the library return, and the exceptions that stand for them. */
final class Codes {
    static final int OK = 0;
    static final int NOT_FOUND = -1;
    static final int EXISTS = -2;
    static final int TIMED_OUT = -3;
    static final int STILL_SHARED = -4;
    static final int CONFLICT = -5;
    static final int INVALID = 10;
    static final int BUSY = 13;
    static final int THREAD_WRITES = 29;
    static final int BAD_HANDLE = 101;
    static final int IN_USE = 102;
    static final int BAD_TXN = 103;
    static final int BAD_ARGUMENT = 104;
    static final int STOPPED = 106;

    private static final Struct ERROR =
            Struct.of("huon_error")
                    .i32("code")
                    .i32("system")
                    .u32("page")
                    .pointer("message")
                    .end();

    private Codes() {}

    /** What must be done by now. */
    static void done(int code) {
        if (code != OK) {
            throw fail(code);
        }
    }

    /** Whether it is there. */
    static boolean found(int code) {
        return is(code, NOT_FOUND);
    }

    /** Whether it was done, or there is that reason why not. */
    static boolean is(int code, int unless) {
        if (code == OK) {
            return true;
        }
        if (code != unless) {
            throw fail(code);
        }
        return false;
    }

    /**
     * The exception of a code that the last call of this thread returned. A virtual thread stays
     * where it is between the two calls unless something between them waits; should it have moved,
     * the general text of the code has to do.
     */
    static RuntimeException fail(int code) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment error = arena.allocate(ERROR.layout());
            last(error);
            if (ERROR.i32(error, "code") != code) {
                return exception(code, text(code), 0, -1);
            }
            MemorySegment text = error.get(POINTER, ERROR.offset("message"));
            int page = ERROR.i32(error, "page");
            return exception(
                    code,
                    text.reinterpret(Long.MAX_VALUE).getString(0),
                    ERROR.i32(error, "system"),
                    page == -1 ? -1 : Integer.toUnsignedLong(page));
        }
    }

    private static RuntimeException exception(int code, String message, int system, long page) {
        HuonException.Kind kind = HuonException.Kind.of(code);
        return switch (code) {
            case BAD_HANDLE, IN_USE, BAD_TXN -> new IllegalStateException(message);
            case BAD_ARGUMENT, INVALID -> new IllegalArgumentException(message);
            case BUSY, THREAD_WRITES -> new HuonException.Busy(kind, message);
            case 5 -> new HuonException.TableNotFound(message);
            case 11 -> new HuonException.MapFull(message);
            case 20 -> new HuonException.Corrupt(message, system, page);
            case 27 -> new HuonException.Evicted(message);
            case 37 -> new HuonException.Diverged(message);
            default -> new HuonException(kind, message, system, page);
        };
    }

    private static void last(MemorySegment error) {
        try {
            Native.LAST_ERROR.invokeExact(error);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** What a code means, in a few words. */
    static String text(int code) {
        try {
            MemorySegment text = (MemorySegment) Native.STRERROR.invokeExact(code);
            return text.equals(MemorySegment.NULL)
                    ? "error " + code
                    : text.reinterpret(Long.MAX_VALUE).getString(0);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
