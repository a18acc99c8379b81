package huon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Compares what Java calls with the header that it is declared in. */
final class HeaderTest {
    /** Classes that hold structures: they are known once these are loaded. */
    private static final List<Class<?>> WITH_STRUCTURES =
            List.of(
                    Room.class,
                    Backup.class,
                    Codes.class,
                    Callbacks.class,
                    Copy.class,
                    LsmOptions.class,
                    LsmTable.class,
                    NativeLsm.class,
                    Reports.class,
                    SlowReaders.class,
                    Snapshots.class,
                    TableOptions.class,
                    Tables.class,
                    Txn.class);

    private static String header;
    private static final Map<String, String> numbers = new HashMap<>();

    @BeforeAll
    static void read() throws Exception {
        header = Files.readString(Path.of("../../crates/huon-capi/include/huon.h"));
        header = Pattern.compile("/\\*.*?\\*/", Pattern.DOTALL).matcher(header).replaceAll("");
        Matcher define = Pattern.compile("#define HUON_(\\w+) (-?\\d+)").matcher(header);
        while (define.find()) {
            numbers.put(define.group(1), define.group(2));
        }
        for (Class<?> one : WITH_STRUCTURES) {
            Class.forName(one.getName());
        }
    }

    @Test
    void functions() {
        assertTrue(Native.FUNCTIONS.size() > 90);
        Native.FUNCTIONS.forEach(
                (name, descriptor) -> {
                    Pattern declared =
                            Pattern.compile("([\\w ]+?[ *]+)" + name + "\\(([^;]*)\\);");
                    Matcher found = declared.matcher(header);
                    assertTrue(found.find(), name);
                    List<String> expected = new ArrayList<>();
                    for (String argument : found.group(2).split(",")) {
                        if (!argument.strip().equals("void")) {
                            expected.add(shape(argument.strip()));
                        }
                    }
                    List<String> ours = new ArrayList<>();
                    descriptor.argumentLayouts().forEach(layout -> ours.add(shape(layout)));
                    assertEquals(expected, ours, name);
                    String answer = descriptor.returnLayout().map(HeaderTest::shape).orElse("void");
                    assertEquals(shape(found.group(1).strip() + " it"), answer, name);
                });
    }

    /** What the library has and Java does not use: to be looked at when it grows. */
    @Test
    void functionsThatAreLeftOut() {
        Set<String> wanted =
                Set.of(
                        "str",
                        "error_message",
                        "txn_state",
                        "on_slow_reader",
                        "get_copy",
                        "get_many",
                        "put_many",
                        "cursor_copy",
                        "cursor_next_packed",
                        "cursor_position",
                        "multi_put_many",
                        "copy_to_fd",
                        "backup_to_fd",
                        "metas_of",
                        "switch_to_meta",
                        "range_many",
                        "reserve",
                        "retain",
                        "update_with",
                        "salvage",
                        "visit_pages",
                        "visit_records",
                        "multi_retain",
                        "multi_update_with",
                        "multi_remove_values",
                        "multi_bulk_load",
                        "multi_get_many",
                        "multi_replace",
                        "multi_take",
                        "multi_pop_first",
                        "multi_pop_last",
                        "lsm_compact_with");
        Matcher declared = Pattern.compile("\\bhuon_(\\w+)\\(").matcher(header);
        while (declared.find()) {
            String name = declared.group(1);
            boolean isMoreOfLsm = name.matches("batch_.*|lsm_(write|merge|get_many)");
            boolean isUsed = Native.FUNCTIONS.containsKey("huon_" + name);
            assertTrue(isUsed || isMoreOfLsm || wanted.contains(name), name);
        }
    }

    @Test
    void structures() {
        assertTrue(Struct.ALL.size() >= 15);
        for (Struct struct : Struct.ALL.values()) {
            String name = struct.layout().name().orElseThrow();
            Matcher found =
                    Pattern.compile("typedef struct \\{([^}]*)\\} " + name + ";").matcher(header);
            assertTrue(found.find(), name);
            List<String> expected = new ArrayList<>();
            for (String field : found.group(1).split(";")) {
                Matcher parts = FIELD.matcher(field.strip());
                if (parts.matches()) {
                    String array = parts.group(3) == null ? "" : parts.group(3);
                    expected.add(shape(parts.group(1) + " it") + array + " " + parts.group(2));
                }
            }
            List<String> ours = new ArrayList<>();
            for (MemoryLayout member : struct.layout().memberLayouts()) {
                if (!(member instanceof PaddingLayout)) {
                    ours.add(shape(member) + " " + member.name().orElseThrow());
                }
            }
            assertEquals(expected, ours, name);
        }
    }

    private static final Pattern FIELD = Pattern.compile("(.*?[ *])(\\w+)(\\[\\d+\\])?");

    @Test
    void errors() {
        for (HuonException.Kind kind : HuonException.Kind.values()) {
            String name = kind == HuonException.Kind.BUG ? "PANIC" : kind.name();
            if (kind != HuonException.Kind.UNKNOWN) {
                assertEquals(numbers.get(name), String.valueOf(kind.code()), name);
            }
        }
        for (int code = 1; code <= 37; code++) {
            boolean isKnown = HuonException.Kind.of(code) != HuonException.Kind.UNKNOWN;
            assertTrue(isKnown || code == Codes.INVALID, "" + code);
            assertNotNull(Codes.text(code));
        }
        assertFalse(numbers.containsValue("38"), "an error that is not here");
    }

    @Test
    void numbersOfOptionsAndCodes() throws IllegalAccessException {
        for (Class<?> of : List.of(Options.class, Codes.class, KeyRange.class)) {
            for (Field field : of.getDeclaredFields()) {
                if (field.getType() == int.class && field.getName().matches("[A-Z_]+")) {
                    field.setAccessible(true);
                    String ours = String.valueOf(field.getInt(null));
                    assertEquals(numbers.get(field.getName()), ours, field.getName());
                }
            }
        }
        same(Durability.values(), "");
        same(Env.Recovery.values(), "RECOVERY_");
        same(SlowReader.Advice.values(), "SLOW_");
        same(Huon.FileKind.values(), "KIND_");
        same(JournalState.values(), "JOURNAL_");
        for (TableOptions.Order order : TableOptions.Order.values()) {
            assertEquals(numbers.get("ORDER_" + order), String.valueOf(order.code));
        }
        for (CompactReport.End end : CompactReport.End.values()) {
            String name = end == CompactReport.End.COMPACTED ? "COMPACTED" : "COMPACT_" + end;
            assertEquals(numbers.get(name), String.valueOf(end.ordinal()), name);
        }
    }

    /** All of the header's numbers of a kind are here, and no others. */
    private static void same(Enum<?>[] values, String prefix) {
        for (Enum<?> value : values) {
            String name = prefix + value;
            assertEquals(numbers.get(name), String.valueOf(value.ordinal()), name);
        }
        if (!prefix.isEmpty()) {
            Set<String> declared = new HashSet<>(numbers.keySet());
            declared.removeIf(name -> !name.startsWith(prefix) || isOption(name));
            assertEquals(values.length, declared.size(), declared.toString());
        }
    }

    private static boolean isOption(String name) {
        return Arrays.stream(Options.class.getDeclaredFields())
                .anyMatch(field -> field.getName().equals(name));
    }

    private static final String HANDLE =
            "huon_(env|txn|options|cursor|ticket|lsm|lsm_table|compactor)";

    /** Of a declaration in C: a handle is a number, anything else that is pointed to a pointer. */
    private static String shape(String declared) {
        String type = declared.replaceAll("\\bconst\\b", "").strip();
        if (type.matches(HANDLE + " *\\* *\\w+")) {
            return "8";
        }
        if (type.contains("*") || type.matches("huon_\\w+_fn .*")) {
            return "pointer";
        }
        return switch (type.split(" ")[0]) {
            case "void" -> "void";
            case "bool" -> "bool";
            case "uint8_t" -> "1";
            case "int", "int32_t", "uint32_t" -> "4";
            case "int64_t", "uint64_t", "size_t" -> "8";
            case "double" -> "double";
            case "huon_bytes" -> "16 {data len}";
            case "huon_snapshot" -> "16 {id checksum}";
            case "huon_table", "huon_multi" -> "16 {words}";
            case "huon_order" -> "40 {kind name compare context}";
            default -> "? " + type;
        };
    }

    private static String shape(MemoryLayout ours) {
        MemoryLayout plain = ours.withoutName();
        if (plain.equals(Native.POINTER)) {
            return "pointer";
        }
        if (plain.equals(Native.BOOL)) {
            return "bool";
        }
        if (plain instanceof java.lang.foreign.ValueLayout.OfDouble) {
            return "double";
        }
        if (plain instanceof java.lang.foreign.SequenceLayout sequence) {
            return shape(sequence.elementLayout()) + "[" + sequence.elementCount() + "]";
        }
        if (plain instanceof java.lang.foreign.StructLayout struct) {
            StringBuilder names = new StringBuilder();
            for (MemoryLayout member : struct.memberLayouts()) {
                member.name().ifPresent(name -> names.append(' ').append(name));
            }
            return struct.byteSize() + " {" + names.substring(1) + "}";
        }
        return String.valueOf(plain.byteSize());
    }

    @Test
    void versions() throws IOException {
        String version = Huon.version();
        String pom = Files.readString(Path.of("pom.xml"));
        assertTrue(pom.contains("<version>" + version + "</version>"), version);
    }
}
