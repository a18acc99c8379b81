package huon;

import static huon.Native.call;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.file.Path;

/**
 * A copy of an environment that is to be made while readers and writers go on, as in
 * {@code env.copy().compact().to(path)}.
 */
public final class Copy {
    private static final Struct OPTIONS =
            Struct.of("huon_copy_options")
                    .size("bytes")
                    .u32("flags")
                    .u32("mode")
                    .handle("snapshot")
                    .pointer("progress")
                    .pointer("context")
                    .end();
    private static final Struct REPORT =
            Struct.of("huon_copy_report").u64("txnid").u64("bytes").end();
    private static final int COMPACT = 1;

    private final Env env;
    private int flags;
    private int mode;
    private ReadTxn snapshot;
    private Progress progress;

    Copy(Env env) {
        this.env = env;
    }

    /** Builds every table anew, its pages full, without free space. */
    public Copy compact() {
        flags |= COMPACT;
        return this;
    }

    /** Permission bits of the copy; 0600 unless said otherwise. */
    public Copy mode(int mode) {
        this.mode = mode;
        return this;
    }

    /**
     * Copies what this transaction sees, and not the newest commit. Until the copy is made, the
     * transaction cannot be used, and views of it can; one for all threads has them wait.
     */
    public Copy snapshot(ReadTxn snapshot) {
        this.snapshot = snapshot;
        return this;
    }

    /** Is told how far it is, and may end it with {@link HuonException.Kind#STOPPED}. */
    public Copy progress(Progress progress) {
        this.progress = progress;
        return this;
    }

    /**
     * Copies to a new file, which has its name only when it is complete and flushed.
     * {@link HuonException.Kind#IO} if the file exists or cannot be written.
     */
    public CopyReport to(Path path) {
        return make(
                (arena, callbacks, options, report) ->
                        call(
                                Native.COPY,
                                env.handle(),
                                arena.allocateFrom(Huon.text(path)),
                                options,
                                report));
    }

    /**
     * Copies to a stream, in the calling thread.
     *
     * @throws IOException if the stream throws it
     */
    public CopyReport to(OutputStream output) throws IOException {
        return make(
                (arena, callbacks, options, report) ->
                        call(
                                Native.COPY_TO_WRITER,
                                env.handle(),
                                callbacks.output(output),
                                MemorySegment.NULL,
                                options,
                                report));
    }

    private interface Call {
        int with(Arena arena, Callbacks callbacks, MemorySegment options, MemorySegment report);
    }

    private CopyReport make(Call call) {
        ReadTxn of = snapshot;
        return of == null ? make(call, 0) : of.lend(handle -> make(call, handle));
    }

    /** Zero for the snapshot: the newest commit. */
    private CopyReport make(Call call, long snapshot) {
        try (Arena arena = Arena.ofConfined();
                Callbacks callbacks = new Callbacks()) {
            MemorySegment options = arena.allocate(OPTIONS.layout());
            OPTIONS.set(options, "bytes", OPTIONS.bytes());
            OPTIONS.set(options, "flags", flags);
            OPTIONS.set(options, "mode", mode);
            OPTIONS.set(options, "snapshot", snapshot);
            OPTIONS.set(options, "progress", callbacks.progress(progress));
            MemorySegment report = arena.allocate(REPORT.layout());
            callbacks.done(call.with(arena, callbacks, options, report));
            return new CopyReport(REPORT.u64(report, "txnid"), REPORT.u64(report, "bytes"));
        } finally {
            Reference.reachabilityFence(env);
        }
    }
}
