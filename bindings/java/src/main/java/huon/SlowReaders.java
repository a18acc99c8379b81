package huon;

import static huon.Native.INT;
import static huon.Native.POINTER;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/** Asks a program's handler about slow readers, for as long as an environment is open. */
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
    private final MemorySegment stub;

    /** The arena must stay open until the environment and all its transactions have ended. */
    SlowReaders(SlowReader.Handler handler, Arena arena) {
        this.handler = handler;
        try {
            MethodHandle code =
                    MethodHandles.lookup()
                            .findVirtual(SlowReaders.class, "asked", ASKED.toMethodType());
            stub = Native.upcall(code.bindTo(this), ASKED, arena);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    MemorySegment stub() {
        return stub;
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
            return handler.advise(slow).ordinal();
        } catch (Throwable e) {
            LOG.log(System.Logger.Level.WARNING, "the handler of slow readers has failed", e);
            return SlowReader.Advice.GIVE_UP.ordinal();
        }
    }
}
