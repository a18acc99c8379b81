package huon;

import static huon.Codes.done;
import static huon.Codes.found;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** What is asked of the library about tables by their names. */
final class Tables {
    private static final Struct STAT =
            Struct.of("huon_table_stat")
                    .u64("entries")
                    .u64("sequence")
                    .u64("changed")
                    .u32("branch_pages")
                    .u32("leaf_pages")
                    .u32("overflow_pages")
                    .u32("depth")
                    .u32("value_bytes")
                    .bool("is_multi")
                    .end();

    private Tables() {}

    /** The words of a table, which are a value: kept on Java's heap, and handed over by value. */
    static MemorySegment open(Txn txn, MethodHandle how, String name, TableOptions with) {
        byte[] bytes = Huon.utf8(name);
        boolean changes = how == Native.TABLE_CREATE || how == Native.MULTI_CREATE;
        Core core = changes ? txn.enterToChange() : txn.enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment made = with == null ? MemorySegment.NULL : with.made(arena);
            Room room = core.room;
            done(call(how, core.handle, room.key(bytes), made, room.out));
            return MemorySegment.ofArray(room.out.asSlice(0, 16).toArray(Native.LONG));
        } finally {
            txn.exit();
        }
    }

    /** The size of the table of that name, or null if there is none. */
    static TableStat stat(Txn txn, String name) {
        byte[] bytes = Huon.utf8(name);
        Core core = txn.enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stat = arena.allocate(STAT.layout());
            MemorySegment key = core.room.key(bytes);
            if (!found(call(Native.GET_TABLE_STAT, core.handle, key, stat, STAT.bytes()))) {
                return null;
            }
            return new TableStat(
                    STAT.u64(stat, "entries"),
                    STAT.u64(stat, "sequence"),
                    STAT.u64(stat, "changed"),
                    STAT.u32(stat, "branch_pages"),
                    STAT.u32(stat, "leaf_pages"),
                    STAT.u32(stat, "overflow_pages"),
                    STAT.i32(stat, "depth"),
                    STAT.i32(stat, "value_bytes"),
                    STAT.bool(stat, "is_multi"));
        } finally {
            txn.exit();
        }
    }
}
