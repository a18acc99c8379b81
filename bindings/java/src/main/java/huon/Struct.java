package huon;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A structure of huon.h: its fields by name, with the padding that C puts between them. All are
 * known by name, so that {@code HeaderTest} can compare them with the header. For what is called
 * now and then: a field is looked up by its name.
 */
final class Struct {
    /** All structures that were made so far, by classes that any thread may have loaded. */
    static final Map<String, Struct> ALL = new ConcurrentHashMap<>();

    private final StructLayout layout;
    private final Map<String, Long> offsets = new HashMap<>();

    private Struct(String name, List<MemoryLayout> members) {
        layout = MemoryLayout.structLayout(members.toArray(MemoryLayout[]::new)).withName(name);
        long at = 0;
        for (MemoryLayout member : members) {
            final long offset = at;
            member.name().ifPresent(field -> offsets.put(field, offset));
            at += member.byteSize();
        }
        ALL.put(name, this);
    }

    static Maker of(String name) {
        return new Maker(name);
    }

    StructLayout layout() {
        return layout;
    }

    long bytes() {
        return layout.byteSize();
    }

    long offset(String field) {
        return offsets.get(field);
    }

    int i32(MemorySegment of, String field) {
        return of.get(Native.INT, offset(field));
    }

    long u32(MemorySegment of, String field) {
        return Integer.toUnsignedLong(i32(of, field));
    }

    long u64(MemorySegment of, String field) {
        return of.get(Native.LONG, offset(field));
    }

    boolean bool(MemorySegment of, String field) {
        return of.get(Native.BOOL, offset(field));
    }

    void set(MemorySegment of, String field, int value) {
        of.set(Native.INT, offset(field), value);
    }

    void set(MemorySegment of, String field, long value) {
        of.set(Native.LONG, offset(field), value);
    }

    void set(MemorySegment of, String field, MemorySegment value) {
        of.set(Native.POINTER, offset(field), value);
    }

    /** Of a field of 32 or 64 bits. */
    void setNumber(MemorySegment of, String field, long value) {
        PathElement path = PathElement.groupElement(field);
        if (layout.select(path).byteSize() == 4) {
            set(of, field, Math.toIntExact(value));
        } else {
            set(of, field, value);
        }
    }

    /** Makes a structure, field by field. */
    static final class Maker {
        private final String name;
        private final List<MemoryLayout> members = new ArrayList<>();
        private long at;
        private long alignment = 1;

        private Maker(String name) {
            this.name = name;
        }

        Maker i32(String field) {
            return add(Native.INT.withName(field));
        }

        Maker u32(String field) {
            return add(Native.INT.withName(field));
        }

        Maker u64(String field) {
            return add(Native.LONG.withName(field));
        }

        Maker size(String field) {
            return add(Native.LONG.withName(field));
        }

        Maker f64(String field) {
            return add(ValueLayout.JAVA_DOUBLE.withName(field));
        }

        Maker bool(String field) {
            return add(Native.BOOL.withName(field));
        }

        Maker pointer(String field) {
            return add(Native.POINTER.withName(field));
        }

        Maker bytes(String field, long count) {
            return part(field, MemoryLayout.sequenceLayout(count, ValueLayout.JAVA_BYTE));
        }

        /** A handle of the library, which is a number here. */
        Maker handle(String field) {
            return add(Native.LONG.withName(field));
        }

        Maker part(String field, MemoryLayout part) {
            return add(part.withName(field));
        }

        private Maker add(MemoryLayout member) {
            pad(member.byteAlignment());
            members.add(member);
            at += member.byteSize();
            alignment = Math.max(alignment, member.byteAlignment());
            return this;
        }

        private void pad(long to) {
            long gap = -at & (to - 1);
            if (gap > 0) {
                members.add(MemoryLayout.paddingLayout(gap));
                at += gap;
            }
        }

        Struct end() {
            pad(alignment);
            return new Struct(name, members);
        }
    }
}
