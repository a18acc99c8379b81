package huon;

import static huon.Codes.done;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** What the library tells of an environment, and does for it, in structures. */
final class Reports {
    private static final Struct INFO =
            Struct.of("huon_info")
                    .u32("page_bytes")
                    .u32("key_bytes_max")
                    .u32("clients")
                    .u32("readers")
                    .u64("file_bytes")
                    .u64("used_bytes")
                    .u64("max_bytes")
                    .u64("map_bytes")
                    .u64("newest")
                    .u64("visible")
                    .u64("durable")
                    .u64("unflushed_bytes")
                    .u64("commits")
                    .u64("flushes")
                    .u64("writes")
                    .u64("written_bytes")
                    .u64("pages_written")
                    .bytes("uuid", 16)
                    .bool("is_poisoned")
                    .bool("is_repair_due")
                    .u32("journal")
                    .u64("journal_bytes")
                    .u64("journal_used_bytes")
                    .u64("journal_batches")
                    .u64("journal_checkpoint")
                    .end();
    private static final Struct STAT =
            Struct.of("huon_stat")
                    .u64("txnid")
                    .u64("file_bytes")
                    .u64("tail_bytes")
                    .u64("meta_pages")
                    .u64("live_pages")
                    .u64("free_list_pages")
                    .u64("reusable_pages")
                    .u64("retained_pages")
                    .u32("page_bytes")
                    .u32("retained_snapshots")
                    .u32("tables")
                    .end();
    private static final Struct READER =
            Struct.of("huon_reader")
                    .u32("pid")
                    .u32("thread")
                    .u64("txnid")
                    .u64("ids_behind")
                    .u64("age_ms")
                    .bool("is_parked")
                    .bool("is_guest")
                    .end();
    private static final Struct GEOMETRY =
            Struct.of("huon_geometry")
                    .u64("min_bytes")
                    .u64("max_bytes")
                    .u64("grow_bytes")
                    .u64("shrink_bytes")
                    .end();
    private static final Struct CHECK =
            Struct.of("huon_check_options")
                    .size("bytes")
                    .u32("meta")
                    .pointer("problem")
                    .pointer("progress")
                    .pointer("context")
                    .end();
    private static final Struct CHECKED =
            Struct.of("huon_check_report").u64("txnid").u64("problems").end();
    private static final Struct COMPACT =
            Struct.of("huon_compact_options")
                    .size("bytes")
                    .f64("target")
                    .u64("time_limit_ms")
                    .u64("step_bytes")
                    .pointer("progress")
                    .pointer("context")
                    .end();
    private static final Struct COMPACTED =
            Struct.of("huon_compact_report")
                    .i32("end")
                    .u64("before_bytes")
                    .u64("after_bytes")
                    .u64("moved_bytes")
                    .u64("commits")
                    .end();

    private Reports() {}

    static Info info(Env env) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment it = arena.allocate(INFO.layout());
            done(call(Native.GET_INFO, env.handle(), it, INFO.bytes()));
            ByteBuffer uuid = it.asSlice(INFO.offset("uuid"), 16).asByteBuffer();
            return new Info(
                    INFO.i32(it, "page_bytes"),
                    INFO.i32(it, "key_bytes_max"),
                    INFO.i32(it, "clients"),
                    INFO.i32(it, "readers"),
                    INFO.u64(it, "file_bytes"),
                    INFO.u64(it, "used_bytes"),
                    INFO.u64(it, "max_bytes"),
                    INFO.u64(it, "map_bytes"),
                    INFO.u64(it, "newest"),
                    INFO.u64(it, "visible"),
                    INFO.u64(it, "durable"),
                    INFO.u64(it, "unflushed_bytes"),
                    INFO.u64(it, "commits"),
                    INFO.u64(it, "flushes"),
                    INFO.u64(it, "writes"),
                    INFO.u64(it, "written_bytes"),
                    INFO.u64(it, "pages_written"),
                    new UUID(uuid.getLong(), uuid.getLong()),
                    INFO.bool(it, "is_poisoned"),
                    INFO.bool(it, "is_repair_due"),
                    JournalState.values()[INFO.i32(it, "journal")],
                    INFO.u64(it, "journal_bytes"),
                    INFO.u64(it, "journal_used_bytes"),
                    INFO.u64(it, "journal_batches"),
                    INFO.u64(it, "journal_checkpoint"));
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    static Stat stat(Env env) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment it = arena.allocate(STAT.layout());
            done(call(Native.GET_STAT, env.handle(), it, STAT.bytes()));
            return new Stat(
                    STAT.u64(it, "txnid"),
                    STAT.u64(it, "file_bytes"),
                    STAT.u64(it, "tail_bytes"),
                    STAT.u64(it, "meta_pages"),
                    STAT.u64(it, "live_pages"),
                    STAT.u64(it, "free_list_pages"),
                    STAT.u64(it, "reusable_pages"),
                    STAT.u64(it, "retained_pages"),
                    STAT.i32(it, "page_bytes"),
                    STAT.i32(it, "retained_snapshots"),
                    STAT.i32(it, "tables"));
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    static List<Reader> readers(Env env) {
        long room = 16;
        while (true) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment readers = arena.allocate(READER.layout(), room);
                MemorySegment count = arena.allocate(Native.LONG);
                done(call(Native.READERS, env.handle(), readers, room, count));
                if (count.get(Native.LONG, 0) <= room) {
                    return readers(readers, count.get(Native.LONG, 0));
                }
                room = 2 * count.get(Native.LONG, 0);
            } finally {
                Reference.reachabilityFence(env);
            }
        }
    }

    private static List<Reader> readers(MemorySegment readers, long count) {
        List<Reader> all = new ArrayList<>();
        for (long i = 0; i < count; i++) {
            MemorySegment it = readers.asSlice(i * READER.bytes(), READER.bytes());
            all.add(
                    new Reader(
                            READER.u32(it, "pid"),
                            READER.u32(it, "thread"),
                            READER.u64(it, "txnid"),
                            READER.u64(it, "ids_behind"),
                            Duration.ofMillis(READER.u64(it, "age_ms")),
                            READER.bool(it, "is_parked"),
                            READER.bool(it, "is_guest")));
        }
        return all;
    }

    static Geometry geometry(Env env) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment it = arena.allocate(GEOMETRY.layout());
            done(call(Native.GET_GEOMETRY, env.handle(), it));
            return new Geometry(
                    GEOMETRY.u64(it, "min_bytes"),
                    GEOMETRY.u64(it, "max_bytes"),
                    GEOMETRY.u64(it, "grow_bytes"),
                    GEOMETRY.u64(it, "shrink_bytes"));
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    static void setGeometry(Env env, Geometry geometry) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment it = arena.allocate(GEOMETRY.layout());
            GEOMETRY.set(it, "min_bytes", geometry.minBytes());
            GEOMETRY.set(it, "max_bytes", geometry.maxBytes());
            GEOMETRY.set(it, "grow_bytes", geometry.growBytes());
            GEOMETRY.set(it, "shrink_bytes", geometry.shrinkBytes());
            done(call(Native.SET_GEOMETRY, env.handle(), it));
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    static CheckReport check(Env env, Progress progress) {
        List<String> problems = new ArrayList<>();
        try (Arena arena = Arena.ofConfined();
                Callbacks callbacks = new Callbacks()) {
            MemorySegment options = arena.allocate(CHECK.layout());
            CHECK.set(options, "bytes", CHECK.bytes());
            CHECK.set(options, "problem", callbacks.problems(problems::add));
            CHECK.set(options, "progress", callbacks.progress(progress));
            MemorySegment report = arena.allocate(CHECKED.layout());
            callbacks.done(call(Native.CHECK, env.handle(), options, report));
            return new CheckReport(CHECKED.u64(report, "txnid"), List.copyOf(problems));
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    static CompactReport compact(Env env, double target, Duration limit, Progress progress) {
        try (Arena arena = Arena.ofConfined();
                Callbacks callbacks = new Callbacks()) {
            MemorySegment options = arena.allocate(COMPACT.layout());
            COMPACT.set(options, "bytes", COMPACT.bytes());
            COMPACT.set(options, "target", Double.doubleToRawLongBits(target));
            COMPACT.set(options, "time_limit_ms", Clock.millis(limit));
            COMPACT.set(options, "progress", callbacks.progress(progress));
            MemorySegment report = arena.allocate(COMPACTED.layout());
            callbacks.done(call(Native.COMPACT, env.handle(), options, report));
            return new CompactReport(
                    CompactReport.End.values()[COMPACTED.i32(report, "end")],
                    COMPACTED.u64(report, "before_bytes"),
                    COMPACTED.u64(report, "after_bytes"),
                    COMPACTED.u64(report, "moved_bytes"),
                    COMPACTED.u64(report, "commits"));
        } finally {
            Reference.reachabilityFence(env);
        }
    }
}
