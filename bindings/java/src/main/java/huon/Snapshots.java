package huon;

import static huon.Codes.done;
import static huon.Codes.found;
import static huon.Native.call;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What is asked of the library about snapshots beyond a transaction. */
final class Snapshots {
    static final Struct SNAPSHOT = Struct.of("huon_snapshot").u64("id").u64("checksum").end();

    private Snapshots() {}

    /** The snapshot that a structure tells. */
    static Snapshot told(MemorySegment it) {
        return new Snapshot(SNAPSHOT.u64(it, "id"), SNAPSHOT.u64(it, "checksum"));
    }

    /** A write transaction of its own: to be called in the turn of one. */
    static Snapshot name(Env env, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment named = arena.allocate(SNAPSHOT.layout());
            MemorySegment bytes = Native.bytes(arena, name);
            done(call(Native.NAME_SNAPSHOT, env.handle(), bytes, named));
            return told(named);
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    /** As {@link #name}; whether a snapshot had the name. */
    static boolean drop(Env env, String name) {
        try (Arena arena = Arena.ofConfined()) {
            return found(call(Native.DROP_SNAPSHOT, env.handle(), Native.bytes(arena, name)));
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    static List<NamedSnapshot> all(Env env) {
        List<NamedSnapshot> all = new ArrayList<>();
        try (Callbacks callbacks = new Callbacks()) {
            MemorySegment each = callbacks.snapshots(all::add);
            callbacks.done(call(Native.NAMED_SNAPSHOTS, env.handle(), each, MemorySegment.NULL));
            return List.copyOf(all);
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    static Snapshot restore(Path path, List<Path> backups) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment paths = arena.allocate(Native.POINTER, backups.size());
            long count = 0;
            for (Path backup : backups) {
                paths.setAtIndex(Native.POINTER, count++, arena.allocateFrom(Huon.text(backup)));
            }
            MemorySegment restored = arena.allocate(SNAPSHOT.layout());
            MemorySegment at = arena.allocateFrom(Huon.text(path));
            done(call(Native.RESTORE, at, paths, count, restored));
            return told(restored);
        }
    }
}
