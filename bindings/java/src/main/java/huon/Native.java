package huon;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The functions of huon.h: a handle and a descriptor each, which {@code HeaderTest} compares with
 * the header.
 *
 * <p>N1. A handle of the library is a {@code long}: it is looked up there, never followed.
 * N2. Other pointers are segments, so that what they point to lives until the call returns.
 * N3. Each function has one of the few shapes of {@link #call}; a static final method handle that
 * is handed to it is a constant once the call is inlined.
 */
final class Native {
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    static final ValueLayout.OfBoolean BOOL = ValueLayout.JAVA_BOOLEAN;
    static final AddressLayout POINTER = ValueLayout.ADDRESS;
    /** {@code huon_bytes}; its address is a number, as it is never followed without its length. */
    static final GroupLayout BYTES =
            MemoryLayout.structLayout(LONG.withName("data"), LONG.withName("len"));
    /** {@code huon_table}, {@code huon_multi}. */
    static final GroupLayout TABLE =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(2, LONG).withName("words"));

    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup LIBRARY = load();
    /** All functions, by name. */
    static final Map<String, FunctionDescriptor> FUNCTIONS = new ConcurrentHashMap<>();

    /** All memory: for addresses that the library has just given, while nothing can end them. */
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    static final MethodHandle LAST_ERROR = nothing("huon_last_error", POINTER);
    static final MethodHandle STRERROR =
            function("huon_strerror", FunctionDescriptor.of(POINTER, INT));
    static final MethodHandle VERSION = code("huon_version");

    static final MethodHandle OPTIONS_NEW = code("huon_options_new", POINTER);
    static final MethodHandle OPTIONS_SET = code("huon_options_set", LONG, INT, LONG);
    static final MethodHandle OPTIONS_ON_SLOW_READER =
            code("huon_options_on_slow_reader", LONG, POINTER, POINTER);
    static final MethodHandle OPTIONS_FREE = code("huon_options_free", LONG);

    static final MethodHandle OPEN = code("huon_open", POINTER, LONG, POINTER);
    static final MethodHandle CLOSE = code("huon_close", LONG);
    static final MethodHandle CLOSE_WITHOUT_FLUSH = code("huon_close_without_flush", LONG);
    static final MethodHandle DELETE = code("huon_delete", POINTER);
    static final MethodHandle KIND_OF = code("huon_kind_of", POINTER, POINTER);
    static final MethodHandle RECOVERY = code("huon_recovery", LONG, POINTER);
    static final MethodHandle SET = code("huon_set", LONG, INT, LONG);
    static final MethodHandle SETTING = code("huon_setting", LONG, INT, POINTER);
    static final MethodHandle WAIT_FOR_COMMIT =
            code("huon_wait_for_commit", LONG, LONG, LONG, POINTER);
    static final MethodHandle SYNC = code("huon_sync", LONG, POINTER);
    static final MethodHandle FLUSH_IF_DUE = code("huon_flush_if_due", LONG, POINTER);
    static final MethodHandle GET_GEOMETRY = code("huon_get_geometry", LONG, POINTER);
    static final MethodHandle SET_GEOMETRY = code("huon_set_geometry", LONG, POINTER);

    static final MethodHandle BEGIN_READ = code("huon_begin_read", LONG, POINTER);
    static final MethodHandle BEGIN_WRITE = code("huon_begin_write", LONG, LONG, POINTER);
    static final MethodHandle COMMIT = code("huon_commit", LONG);
    static final MethodHandle COMMIT_WITH = code("huon_commit_with", LONG, INT, POINTER);
    static final MethodHandle COMMIT_TICKET = code("huon_commit_ticket", LONG, POINTER);
    static final MethodHandle ABORT = code("huon_abort", LONG);
    static final MethodHandle TICKET_WAIT = code("huon_ticket_wait", LONG, LONG);
    static final MethodHandle TICKET_ID = code("huon_ticket_id", LONG, POINTER);
    static final MethodHandle TICKET_FREE = code("huon_ticket_free", LONG);
    static final MethodHandle TXN_ID = code("huon_txn_id", LONG, POINTER);
    static final MethodHandle RESET = code("huon_reset", LONG);
    static final MethodHandle RENEW = code("huon_renew", LONG);
    static final MethodHandle PARK = code("huon_park", LONG);
    static final MethodHandle UNPARK = code("huon_unpark", LONG);
    static final MethodHandle SAVEPOINT = code("huon_savepoint", LONG, BYTES);
    static final MethodHandle ROLL_BACK_TO = code("huon_roll_back_to", LONG, BYTES);
    static final MethodHandle RELEASE = code("huon_release", LONG, BYTES);
    static final MethodHandle MARKERS = code("huon_markers", LONG, POINTER);
    static final MethodHandle SET_MARKERS = code("huon_set_markers", LONG, POINTER);
    static final MethodHandle TABLE_NAMES =
            code("huon_table_names", LONG, POINTER, LONG, POINTER);

    static final MethodHandle TABLE_OPEN = code("huon_table_open", LONG, BYTES, POINTER, POINTER);
    static final MethodHandle TABLE_CREATE =
            code("huon_table_create", LONG, BYTES, POINTER, POINTER);
    static final MethodHandle TABLE_DROP = code("huon_table_drop", LONG, TABLE);
    static final MethodHandle TABLE_CLEAR = code("huon_table_clear", LONG, TABLE);
    static final MethodHandle TABLE_RENAME = code("huon_table_rename", LONG, TABLE, BYTES);
    static final MethodHandle GET = code("huon_get", LONG, TABLE, BYTES, POINTER);
    static final MethodHandle FIRST = code("huon_first", LONG, TABLE, POINTER);
    static final MethodHandle LAST = code("huon_last", LONG, TABLE, POINTER);
    static final MethodHandle AT_OR_ABOVE = code("huon_at_or_above", LONG, TABLE, BYTES, POINTER);
    static final MethodHandle AT_OR_BELOW = code("huon_at_or_below", LONG, TABLE, BYTES, POINTER);
    static final MethodHandle PUT = code("huon_put", LONG, TABLE, BYTES, BYTES, POINTER);
    static final MethodHandle PUT_IF_ABSENT =
            code("huon_put_if_absent", LONG, TABLE, BYTES, BYTES);
    static final MethodHandle UPDATE = code("huon_update", LONG, TABLE, BYTES, BYTES);
    static final MethodHandle APPEND = code("huon_append", LONG, TABLE, BYTES, BYTES);
    static final MethodHandle REPLACE = code("huon_replace", LONG, TABLE, BYTES, BYTES, POINTER);
    static final MethodHandle TAKE = code("huon_take", LONG, TABLE, BYTES, POINTER);
    static final MethodHandle REMOVE = code("huon_remove", LONG, TABLE, BYTES);
    static final MethodHandle COMPARE_AND_SET =
            code("huon_compare_and_set", LONG, TABLE, BYTES, POINTER, POINTER);
    static final MethodHandle POP_FIRST = code("huon_pop_first", LONG, TABLE, POINTER);
    static final MethodHandle POP_LAST = code("huon_pop_last", LONG, TABLE, POINTER);
    static final MethodHandle REMOVE_RANGE =
            code("huon_remove_range", LONG, TABLE, POINTER, POINTER);
    static final MethodHandle COUNT = code("huon_count", LONG, TABLE, POINTER, POINTER);
    static final MethodHandle ESTIMATE = code("huon_estimate", LONG, TABLE, POINTER, POINTER);
    static final MethodHandle SEQUENCE = code("huon_sequence", LONG, TABLE, LONG, POINTER);
    static final MethodHandle BULK_APPEND =
            code("huon_bulk_append", LONG, TABLE, POINTER, POINTER);
    static final MethodHandle GET_MANY_PACKED =
            code("huon_get_many_packed", LONG, TABLE, POINTER, POINTER, LONG, POINTER, POINTER);
    static final MethodHandle PUT_PACKED =
            code("huon_put_packed", LONG, TABLE, POINTER, LONG, POINTER);

    static final MethodHandle CURSOR_OPEN =
            code("huon_cursor_open", LONG, TABLE, POINTER, POINTER);
    static final MethodHandle MULTI_CURSOR_OPEN =
            code("huon_multi_cursor_open", LONG, TABLE, POINTER, POINTER);
    static final MethodHandle MULTI_VALUES_OPEN =
            code("huon_multi_values_open", LONG, TABLE, BYTES, POINTER);
    static final MethodHandle CURSOR_CLOSE = code("huon_cursor_close", LONG);
    static final MethodHandle TO_START = code("huon_cursor_to_start", LONG);
    static final MethodHandle TO_END = code("huon_cursor_to_end", LONG);
    static final MethodHandle SEEK = code("huon_cursor_seek", LONG, BYTES);
    static final MethodHandle SEEK_AFTER = code("huon_cursor_seek_after", LONG, BYTES);
    static final MethodHandle SEEK_PAIR = code("huon_cursor_seek_pair", LONG, BYTES, BYTES);
    static final MethodHandle SKIP_KEY = code("huon_cursor_skip_key", LONG);
    static final MethodHandle SKIP_KEY_BACK = code("huon_cursor_skip_key_back", LONG);
    static final MethodHandle NEXT = code("huon_cursor_next", LONG, LONG, POINTER);
    static final MethodHandle PREV = code("huon_cursor_prev", LONG, LONG, POINTER);
    static final MethodHandle NEXT_MANY =
            code("huon_cursor_next_many", LONG, LONG, POINTER, LONG, POINTER);
    static final MethodHandle PREV_MANY =
            code("huon_cursor_prev_many", LONG, LONG, POINTER, LONG, POINTER);

    static final MethodHandle MULTI_OPEN = code("huon_multi_open", LONG, BYTES, POINTER, POINTER);
    static final MethodHandle MULTI_CREATE =
            code("huon_multi_create", LONG, BYTES, POINTER, POINTER);
    static final MethodHandle MULTI_DROP = code("huon_multi_drop", LONG, TABLE);
    static final MethodHandle MULTI_CLEAR = code("huon_multi_clear", LONG, TABLE);
    static final MethodHandle MULTI_RENAME = code("huon_multi_rename", LONG, TABLE, BYTES);
    static final MethodHandle MULTI_GET = code("huon_multi_get", LONG, TABLE, BYTES, POINTER);
    static final MethodHandle MULTI_CONTAINS =
            code("huon_multi_contains", LONG, TABLE, BYTES, BYTES);
    static final MethodHandle MULTI_FIRST = code("huon_multi_first", LONG, TABLE, POINTER);
    static final MethodHandle MULTI_LAST = code("huon_multi_last", LONG, TABLE, POINTER);
    static final MethodHandle MULTI_PUT =
            code("huon_multi_put", LONG, TABLE, BYTES, BYTES, POINTER);
    static final MethodHandle MULTI_PUT_IF_ABSENT =
            code("huon_multi_put_if_absent", LONG, TABLE, BYTES, BYTES);
    static final MethodHandle MULTI_APPEND = code("huon_multi_append", LONG, TABLE, BYTES, BYTES);
    static final MethodHandle MULTI_SET =
            code("huon_multi_set", LONG, TABLE, BYTES, BYTES, POINTER);
    static final MethodHandle MULTI_UPDATE =
            code("huon_multi_update", LONG, TABLE, BYTES, BYTES, BYTES);
    static final MethodHandle MULTI_REMOVE = code("huon_multi_remove", LONG, TABLE, BYTES, BYTES);
    static final MethodHandle MULTI_REMOVE_KEY =
            code("huon_multi_remove_key", LONG, TABLE, BYTES, POINTER);
    static final MethodHandle MULTI_REMOVE_RANGE =
            code("huon_multi_remove_range", LONG, TABLE, POINTER, POINTER);
    static final MethodHandle MULTI_COUNT_VALUES =
            code("huon_multi_count_values", LONG, TABLE, BYTES, POINTER);
    static final MethodHandle MULTI_COUNT =
            code("huon_multi_count", LONG, TABLE, POINTER, POINTER);
    static final MethodHandle MULTI_ESTIMATE =
            code("huon_multi_estimate", LONG, TABLE, POINTER, POINTER);

    static final MethodHandle GET_INFO = code("huon_get_info", LONG, POINTER, LONG);
    static final MethodHandle READERS = code("huon_readers", LONG, POINTER, LONG, POINTER);
    static final MethodHandle GET_STAT = code("huon_get_stat", LONG, POINTER, LONG);
    static final MethodHandle GET_TABLE_STAT =
            code("huon_get_table_stat", LONG, BYTES, POINTER, LONG);
    static final MethodHandle GET_TXN_INFO = code("huon_get_txn_info", LONG, POINTER, LONG);
    static final MethodHandle COPY = code("huon_copy", LONG, POINTER, POINTER, POINTER);
    static final MethodHandle COPY_TO_WRITER =
            code("huon_copy_to_writer", LONG, POINTER, POINTER, POINTER, POINTER);
    static final MethodHandle CHECK = code("huon_check", LONG, POINTER, POINTER);
    static final MethodHandle COMPACT = code("huon_compact", LONG, POINTER, POINTER);
    static final MethodHandle CLEAR_DEAD_READERS =
            code("huon_clear_dead_readers", LONG, POINTER);

    static final MethodHandle NAME_SNAPSHOT = code("huon_name_snapshot", LONG, BYTES, POINTER);
    static final MethodHandle DROP_SNAPSHOT = code("huon_drop_snapshot", LONG, BYTES);
    static final MethodHandle BEGIN_READ_NAMED =
            code("huon_begin_read_named", LONG, BYTES, POINTER);
    static final MethodHandle NAMED_SNAPSHOTS =
            code("huon_named_snapshots", LONG, POINTER, POINTER);
    static final MethodHandle BACKUP_TO_WRITER =
            code("huon_backup_to_writer", LONG, POINTER, POINTER, POINTER, POINTER);
    static final MethodHandle RESTORE = code("huon_restore", POINTER, POINTER, LONG, POINTER);

    private Native() {}

    static MethodHandle code(String name, MemoryLayout... arguments) {
        return function(name, FunctionDescriptor.of(INT, arguments));
    }

    private static MethodHandle nothing(String name, MemoryLayout... arguments) {
        return function(name, FunctionDescriptor.ofVoid(arguments));
    }

    private static MethodHandle function(String name, FunctionDescriptor descriptor) {
        FUNCTIONS.put(name, descriptor);
        return LINKER.downcallHandle(LIBRARY.findOrThrow(name), descriptor);
    }

    /** A piece of code that C can call, as long as the arena is open. It must never throw (C2). */
    static MemorySegment upcall(MethodHandle code, FunctionDescriptor descriptor, Arena arena) {
        return LINKER.upcallStub(code, descriptor, arena);
    }

    /** {@code huon_bytes} of a text, which stay as long as the arena. */
    static MemorySegment bytes(Arena arena, String text) {
        byte[] utf8 = Huon.utf8(text);
        MemorySegment copy = arena.allocate(Math.max(1, utf8.length));
        MemorySegment.copy(utf8, 0, copy, ValueLayout.JAVA_BYTE, 0, utf8.length);
        return MemorySegment.ofArray(new long[] {copy.address(), utf8.length});
    }

    // The shapes of calls (N3). Segments that are structures are handed over by value.

    static int call(MethodHandle f) {
        try {
            return (int) f.invokeExact();
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a) {
        try {
            return (int) f.invokeExact(a);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, MemorySegment a) {
        try {
            return (int) f.invokeExact(a);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, MemorySegment a, MemorySegment b) {
        try {
            return (int) f.invokeExact(a, b);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, MemorySegment a, long b, MemorySegment c) {
        try {
            return (int) f.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, MemorySegment a, MemorySegment b, long c, MemorySegment d) {
        try {
            return (int) f.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, int b, long c) {
        try {
            return (int) f.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, int b, MemorySegment c) {
        try {
            return (int) f.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, long b) {
        try {
            return (int) f.invokeExact(a, b);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, long b, MemorySegment c) {
        try {
            return (int) f.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, long b, long c, MemorySegment d) {
        try {
            return (int) f.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, long b, MemorySegment c, long d, MemorySegment e) {
        try {
            return (int) f.invokeExact(a, b, c, d, e);
        } catch (Throwable t) {
            throw never(t);
        }
    }

    static int call(MethodHandle f, long a, long b, MemorySegment c, long d) {
        try {
            return (int) f.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, long b, MemorySegment c, MemorySegment d) {
        try {
            return (int) f.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(
            MethodHandle f, long a, long b, MemorySegment c, MemorySegment d, MemorySegment e) {
        try {
            return (int) f.invokeExact(a, b, c, d, e);
        } catch (Throwable t) {
            throw never(t);
        }
    }

    static int call(MethodHandle f, long a, long b, MemorySegment c, MemorySegment d, long e) {
        try {
            return (int) f.invokeExact(a, b, c, d, e);
        } catch (Throwable t) {
            throw never(t);
        }
    }

    static int call(MethodHandle f, long a, MemorySegment b, int c) {
        try {
            return (int) f.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, MemorySegment b) {
        try {
            return (int) f.invokeExact(a, b);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, MemorySegment b, long c) {
        try {
            return (int) f.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, MemorySegment b, long c, MemorySegment d) {
        try {
            return (int) f.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, MemorySegment b, MemorySegment c) {
        try {
            return (int) f.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(MethodHandle f, long a, MemorySegment b, MemorySegment c, long d) {
        try {
            return (int) f.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(
            MethodHandle f, long a, MemorySegment b, MemorySegment c, long d, MemorySegment e) {
        try {
            return (int) f.invokeExact(a, b, c, d, e);
        } catch (Throwable t) {
            throw never(t);
        }
    }

    static int call(MethodHandle f, long a, MemorySegment b, MemorySegment c, MemorySegment d) {
        try {
            return (int) f.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    static int call(
            MethodHandle f,
            long a,
            MemorySegment b,
            MemorySegment c,
            MemorySegment d,
            MemorySegment e) {
        try {
            return (int) f.invokeExact(a, b, c, d, e);
        } catch (Throwable t) {
            throw never(t);
        }
    }

    static int getManyPacked(
            long txn,
            MemorySegment table,
            MemorySegment keys,
            MemorySegment ends,
            long count,
            MemorySegment values) {
        try {
            return (int) GET_MANY_PACKED.invokeExact(
                    txn, table, keys, ends, count, values, MemorySegment.NULL);
        } catch (Throwable e) {
            throw never(e);
        }
    }

    /** A downcall throws nothing of its own: this is a wrong descriptor, or no memory left. */
    private static RuntimeException never(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        if (e instanceof RuntimeException unchecked) {
            return unchecked;
        }
        return new IllegalStateException(e);
    }

    /**
     * The library that the property {@code huon.library} names, or that of the JAR. That is
     * extracted to a file that only its owner sees, and which has no name any more once it is
     * loaded.
     */
    private static SymbolLookup load() {
        String named = System.getProperty("huon.library");
        if (named != null) {
            return SymbolLookup.libraryLookup(Path.of(named).toAbsolutePath(), Arena.global());
        }
        String inside = "/huon/linux-" + System.getProperty("os.arch") + "/libhuon.so";
        try (InputStream library = Native.class.getResourceAsStream(inside)) {
            if (library == null) {
                throw new UnsatisfiedLinkError(
                        "this JAR has no " + inside + ": name a libhuon with -Dhuon.library=PATH");
            }
            Path file = Files.createTempFile("libhuon-", ".so");
            try {
                try (OutputStream copy = Files.newOutputStream(file)) {
                    library.transferTo(copy);
                }
                return SymbolLookup.libraryLookup(file, Arena.global());
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("libhuon could not be extracted", e);
        }
    }
}
