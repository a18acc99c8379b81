package huon;

import static huon.Native.INT;
import static huon.Native.POINTER;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/**
 * Asks a program's handler about slow readers. The virtual machine refers to this as long as the
 * function exists that the library calls, so it refers neither to that nor to what holds it.
 */
final class SlowReaders {
    private static final System.Logger LOG = System.getLogger("huon");
    private static final Struct READER =
            Struct.of("huon_slow_reader")
                    .u32("pid")
                    .u32("thread")
                    .u64("txnid")
                    .u64("ids_behind")
                    .u64("freed_bytes")
                    .u32("retries")
                    .bool("is_parked")
                    .bool("is_own")
                    .bool("is_full")
                    .end();
    private static final FunctionDescriptor ASKED = FunctionDescriptor.of(INT, POINTER, POINTER);

    private final SlowReader.Handler handler;
    private final Writers writers;

    private SlowReaders(SlowReader.Handler handler, Writers writers) {
        this.handler = handler;
        this.writers = writers;
    }

    /**
     * The function that the library calls, which goes when nothing refers to it: that must not be
     * before all that works in the environment has ended. Null if there is no handler.
     */
    static MemorySegment function(SlowReader.Handler handler, Writers writers) {
        if (handler == null) {
            return null;
        }
        try {
            MethodHandle code =
                    MethodHandles.lookup()
                            .findVirtual(SlowReaders.class, "asked", ASKED.toMethodType());
            SlowReaders asks = new SlowReaders(handler, writers);
            return Native.upcall(code.bindTo(asks), ASKED, Arena.ofAuto());
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private int asked(MemorySegment context, MemorySegment reader) {
        try {
            MemorySegment of = reader.reinterpret(READER.bytes());
            SlowReader slow =
                    new SlowReader(
                            READER.u32(of, "pid"),
                            READER.u32(of, "thread"),
                            READER.u64(of, "txnid"),
                            READER.u64(of, "ids_behind"),
                            READER.u64(of, "freed_bytes"),
                            READER.u32(of, "retries"),
                            READER.bool(of, "is_parked"),
                            READER.bool(of, "is_own"),
                            READER.bool(of, "is_full"));
            return advice(slow).ordinal();
        } catch (Throwable e) {
            LOG.log(System.Logger.Level.WARNING, "the handler of slow readers has failed", e);
            return SlowReader.Advice.GIVE_UP.ordinal();
        }
    }

    /** The arguments of the call that asks stay as they are, whatever the handler calls. */
    private SlowReader.Advice advice(SlowReader slow) {
        Room room = writers.ownRoom();
        return room == null ? handler.advise(slow) : room.aside(() -> handler.advise(slow));
    }
}
