package huon;

import static huon.Native.INT;
import static huon.Native.LONG;
import static huon.Native.POINTER;

import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.function.Consumer;

/**
 * Code of the caller's that the library calls during one call.
 *
 * <p>C1. What it is handed lives as long as this object: until that call has returned. C2. Nothing
 * is thrown into the library, which would end the process: what the caller's code throws is kept,
 * the library is told to stop, and {@link #done} throws it. C3. It runs in the calling thread.
 */
final class Callbacks implements AutoCloseable {
    private static final int STOP = 1;
    private static final Struct PROGRESS =
            Struct.of("huon_progress").u64("done_bytes").u64("total_bytes").end();

    private static final FunctionDescriptor TWO = FunctionDescriptor.of(INT, POINTER, POINTER);
    private static final MethodHandle NEXT = find("next", TWO.toMethodType());
    private static final MethodHandle PROGRESSED = find("progressed", TWO.toMethodType());
    private static final FunctionDescriptor THREE =
            FunctionDescriptor.of(INT, POINTER, POINTER, LONG);
    private static final MethodHandle WRITTEN = find("written", THREE.toMethodType());
    private static final FunctionDescriptor NAMED =
            FunctionDescriptor.of(INT, POINTER, Native.BYTES, POINTER);
    private static final MethodHandle SNAPSHOT = find("snapshot", NAMED.toMethodType());
    private static final FunctionDescriptor HEARD =
            FunctionDescriptor.ofVoid(POINTER, POINTER);
    private static final MethodHandle PROBLEM = find("problem", HEARD.toMethodType());

    private final Arena arena = Arena.ofConfined();
    private final Room room = Room.take();
    private Throwable thrown;
    private Iterator<Entry> records;
    private Progress progress;
    private OutputStream output;
    private Consumer<String> problems;
    private Consumer<NamedSnapshot> snapshots;

    private static MethodHandle find(String name, MethodType type) {
        try {
            return MethodHandles.lookup().findVirtual(Callbacks.class, name, type);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private MemorySegment stub(MethodHandle code, FunctionDescriptor descriptor) {
        return Native.upcall(code.bindTo(this), descriptor, arena);
    }

    MemorySegment next(Iterator<Entry> records) {
        this.records = records;
        return stub(NEXT, TWO);
    }

    /** Null stays null: nobody is told. */
    MemorySegment progress(Progress progress) {
        this.progress = progress;
        return progress == null ? MemorySegment.NULL : stub(PROGRESSED, TWO);
    }

    MemorySegment output(OutputStream output) {
        this.output = output;
        return stub(WRITTEN, THREE);
    }

    MemorySegment problems(Consumer<String> problems) {
        this.problems = problems;
        return problems == null ? MemorySegment.NULL : stub(PROBLEM, HEARD);
    }

    MemorySegment snapshots(Consumer<NamedSnapshot> snapshots) {
        this.snapshots = snapshots;
        return stub(SNAPSHOT, NAMED);
    }

    /** The next record, copied to where it stays until the one after it. */
    private int next(MemorySegment context, MemorySegment pair) {
        try {
            if (!records.hasNext()) {
                return Codes.NOT_FOUND;
            }
            Entry record = records.next();
            MemorySegment to = pair.reinterpret(Room.PAIR);
            MemorySegment.copy(room.key(record.keyView()), 0, to, 0, 16);
            MemorySegment.copy(room.value(record.valueView()), 0, to, 16, 16);
            return Codes.OK;
        } catch (Throwable e) {
            return stop(e);
        }
    }

    private int progressed(MemorySegment context, MemorySegment at) {
        try {
            MemorySegment now = at.reinterpret(PROGRESS.bytes());
            long done = PROGRESS.u64(now, "done_bytes");
            return progress.goesOn(done, PROGRESS.u64(now, "total_bytes")) ? Codes.OK : STOP;
        } catch (Throwable e) {
            return stop(e);
        }
    }

    private int written(MemorySegment context, MemorySegment data, long bytes) {
        try {
            MemorySegment from = data.reinterpret(bytes);
            for (long at = 0; at < bytes; at += 1 << 20) {
                long count = Math.min(bytes - at, 1 << 20);
                output.write(from.asSlice(at, count).toArray(ValueLayout.JAVA_BYTE));
            }
            return Codes.OK;
        } catch (Throwable e) {
            return stop(e);
        }
    }

    private void problem(MemorySegment context, MemorySegment text) {
        try {
            if (thrown == null) {
                problems.accept(text.reinterpret(Long.MAX_VALUE).getString(0));
            }
        } catch (Throwable e) {
            stop(e);
        }
    }

    private int snapshot(MemorySegment context, MemorySegment name, MemorySegment snapshot) {
        try {
            byte[] utf8 = Room.copy(name.get(LONG, 0), name.get(LONG, 8));
            MemorySegment which = snapshot.reinterpret(Snapshots.SNAPSHOT.bytes());
            String text = new String(utf8, StandardCharsets.UTF_8);
            snapshots.accept(new NamedSnapshot(text, Snapshots.told(which)));
            return Codes.OK;
        } catch (Throwable e) {
            return stop(e);
        }
    }

    private int stop(Throwable e) {
        if (thrown == null) {
            thrown = e;
        }
        return STOP;
    }

    /** The call has returned that: throws what the caller's code has thrown, if it has. */
    void done(int code) {
        if (thrown != null) {
            Callbacks.<RuntimeException>raise(thrown);
        }
        Codes.done(code);
    }

    /** Throws it as it is, checked or not: callers with a checked one declare it. */
    @SuppressWarnings("unchecked")
    private static <X extends Throwable> void raise(Throwable e) throws X {
        throw (X) e;
    }

    @Override
    public void close() {
        arena.close();
        room.give();
    }
}
