package huon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** Does the steps of a case of the conformance file. */
final class Steps implements AutoCloseable {
    private static final Set<String> GENERAL = Set.of("op", "is", "error", "part", "txn");

    private final Path path;
    private final Options options;
    private final Map<String, Txn> txns = new HashMap<>();
    private Env env;
    private JsonObject step;
    private final Set<String> used = new HashSet<>();

    Steps(Path path, Options options) {
        this.path = path;
        this.options = options;
        env = Huon.open(path, options);
    }

    @Override
    public void close() {
        // The outermost first: it ends those nested in it.
        for (Txn txn : txns.values()) {
            txn.close();
        }
        env.close();
    }

    void run(JsonObject step) {
        this.step = step;
        used.clear();
        JsonElement answer;
        try {
            answer = answer();
        } catch (IllegalStateException | IllegalArgumentException | HuonException e) {
            if (!step.has("error")) {
                throw e;
            }
            assertEquals(step.get("error").getAsString(), name(e), e.toString());
            return;
        }
        if (step.has("error")) {
            fail("no error, but " + answer);
        }
        if (step.has("is")) {
            assertEquals(expanded(step.get("is")), answer);
        }
        for (String argument : step.keySet()) {
            if (!GENERAL.contains(argument) && !used.contains(argument)) {
                fail("the argument " + argument + " is not known");
            }
        }
    }

    private static String name(RuntimeException e) {
        if (e instanceof HuonException.Busy) {
            return "Busy";
        }
        if (e instanceof HuonException huon) {
            StringBuilder name = new StringBuilder();
            for (String word : huon.kind().name().split("_")) {
                name.append(word.charAt(0)).append(word.substring(1).toLowerCase());
            }
            return name.toString();
        }
        return e instanceof IllegalStateException ? "Misuse" : "Invalid";
    }

    private JsonElement answer() {
        String op = step.get("op").getAsString();
        return switch (op) {
            case "read" -> begun(env.read());
            case "write" -> begun(env.write());
            case "try_write" -> begun(env.write(Duration.ZERO));
            case "begin_nested" -> begun(writer(txns.get(text("parent"))).nested());
            case "commit" -> {
                if (txn() instanceof WriteTxn writes) {
                    writes.commit();
                } else {
                    txn().close();
                }
                yield JsonNull.INSTANCE;
            }
            case "abort" -> {
                txn().close();
                yield JsonNull.INSTANCE;
            }
            case "reopen" -> {
                txns.clear();
                env.close();
                boolean reads = isGiven("read_only") && argument("read_only").getAsBoolean();
                env = Huon.open(path, reads ? options.readOnly() : options);
                yield JsonNull.INSTANCE;
            }
            case "create" -> create();
            case "has_table" -> new JsonPrimitive(txn().hasTable(text("table")));
            case "tables" -> {
                JsonArray names = new JsonArray();
                txn().tables().forEach(names::add);
                yield names;
            }
            default -> op.startsWith("multi_") ? ofMultimap(op) : ofStore(op);
        };
    }

    private JsonElement begun(Txn txn) {
        txns.put(step.get("txn").getAsString(), txn);
        return JsonNull.INSTANCE;
    }

    private JsonElement create() {
        WriteTxn txn = writer(txn());
        String kind = step.has("kind") ? text("kind") : "bytes";
        switch (kind) {
            case "bytes" -> txn.createTable(text("table"));
            case "multi" -> txn.createMultimap(text("table"));
            default -> fail("a table of the kind " + kind + " is not known");
        }
        return JsonNull.INSTANCE;
    }

    /** What a reader cannot do is refused by a table, and elsewhere by the compiler. */
    private static WriteTxn writer(Txn txn) {
        if (txn instanceof WriteTxn writes) {
            return writes;
        }
        throw new IllegalStateException("the transaction only reads");
    }

    /** What both kinds have. */
    private JsonElement ofStore(String op) {
        return switch (op) {
            case "drop" -> {
                store().drop();
                yield JsonNull.INSTANCE;
            }
            case "clear" -> {
                store().clear();
                yield JsonNull.INSTANCE;
            }
            case "count" -> new JsonPrimitive(store().count());
            case "first" -> json(store().firstEntry());
            case "last" -> json(store().lastEntry());
            default -> ofTable(op, txn().table(text("table")));
        };
    }

    private Store store() {
        String name = text("table");
        TableStat stat = Tables.stat(txn(), name);
        boolean isMulti = stat != null && stat.isMulti();
        return isMulti ? txn().multimap(name) : txn().table(name);
    }

    private JsonElement ofTable(String op, Table table) {
        return switch (op) {
            case "put" -> {
                table.put(bytes("key"), bytes("value"));
                yield JsonNull.INSTANCE;
            }
            case "insert" ->
                    new JsonPrimitive(table.putIfAbsent(bytes("key"), bytes("value")));
            case "get" -> json(table.get(bytes("key")));
            case "has" -> new JsonPrimitive(table.contains(bytes("key")));
            case "delete" -> new JsonPrimitive(table.delete(bytes("key")));
            case "put_many" -> {
                JsonArray pairs = array("pairs");
                byte[][] keys = new byte[pairs.size()][];
                byte[][] values = new byte[pairs.size()][];
                for (int i = 0; i < keys.length; i++) {
                    keys[i] = bytes(pairs.get(i).getAsJsonArray().get(0));
                    values[i] = bytes(pairs.get(i).getAsJsonArray().get(1));
                }
                table.putMany(keys, values);
                yield JsonNull.INSTANCE;
            }
            case "get_many" -> {
                JsonArray asked = array("keys");
                byte[][] keys = new byte[asked.size()][];
                for (int i = 0; i < keys.length; i++) {
                    keys[i] = bytes(asked.get(i));
                }
                JsonArray values = new JsonArray();
                for (byte[] value : table.getMany(keys)) {
                    values.add(json(value));
                }
                yield values;
            }
            case "delete_range" -> new JsonPrimitive(table.deleteRange(range()));
            case "scan" -> pairs(table.range(range()));
            case "scan_put" -> {
                byte[] value = bytes("value");
                MemorySegment put = MemorySegment.ofArray(value);
                yield changed(table, pair -> table.put(pair.keyView(), put));
            }
            case "scan_delete" -> changed(table, pair -> table.delete(pair.keyView()));
            case "sequence" ->
                    new JsonPrimitive(table.sequence(argument("by").getAsLong()));
            default -> fail("the op " + op + " is not known");
        };
    }

    private JsonElement ofMultimap(String op) {
        Multimap multi = txn().multimap(text("table"));
        return switch (op) {
            case "multi_put" -> new JsonPrimitive(multi.put(bytes("key"), bytes("value")));
            case "multi_values" -> {
                JsonArray values = new JsonArray();
                for (Entry pair : multi.values(bytes("key"), isReversed())) {
                    values.add(json(pair.value()));
                }
                yield values;
            }
            case "multi_delete" -> new JsonPrimitive(multi.delete(bytes("key"), bytes("value")));
            case "multi_delete_all" -> new JsonPrimitive(multi.deleteAll(bytes("key")));
            case "multi_scan" -> pairs(multi.range(range()));
            default -> fail("the op " + op + " is not known");
        };
    }

    // Arguments and answers.

    private JsonElement argument(String name) {
        used.add(name);
        return step.get(name);
    }

    private String text(String name) {
        return argument(name).getAsString();
    }

    private JsonArray array(String name) {
        return argument(name).getAsJsonArray();
    }

    private byte[] bytes(String name) {
        return bytes(argument(name));
    }

    private static byte[] bytes(JsonElement of) {
        return HexFormat.of().parseHex(expanded(of).getAsString());
    }

    private boolean isReversed() {
        return step.has("reverse") && argument("reverse").getAsBoolean();
    }

    private boolean isGiven(String name) {
        used.add(name);
        return step.has(name) && !step.get(name).isJsonNull();
    }

    private KeyRange range() {
        KeyRange range = KeyRange.all();
        if (isGiven("prefix")) {
            range = KeyRange.prefix(bytes("prefix"));
        } else if (isGiven("from")) {
            byte[] from = bytes("from");
            range =
                    isGiven("to")
                            ? KeyRange.closedOpen(from, bytes("to"))
                            : KeyRange.atLeast(from);
        } else if (isGiven("to")) {
            range = KeyRange.lessThan(bytes("to"));
        }
        return isReversed() ? range.reversed() : range;
    }

    private long limit() {
        return isGiven("limit") ? argument("limit").getAsLong() : Long.MAX_VALUE;
    }

    /** Changes each record as it is shown; how many those were. */
    private JsonElement changed(Table table, Consumer<Entry> change) {
        long limit = limit();
        long count = 0;
        for (Entry pair : table.range(range())) {
            change.accept(pair);
            if (++count == limit) {
                break;
            }
        }
        return new JsonPrimitive(count);
    }

    private JsonElement pairs(Entries entries) {
        long limit = limit();
        JsonArray pairs = new JsonArray();
        entries.stream().limit(limit).forEach(pair -> pairs.add(json(pair)));
        return pairs;
    }

    private Txn txn() {
        return txns.get(step.get("txn").getAsString());
    }

    private static JsonElement json(Entry pair) {
        if (pair == null) {
            return JsonNull.INSTANCE;
        }
        JsonArray both = new JsonArray();
        both.add(json(pair.key()));
        both.add(json(pair.value()));
        return both;
    }

    private static JsonElement json(byte[] bytes) {
        return bytes == null
                ? JsonNull.INSTANCE
                : new JsonPrimitive(HexFormat.of().formatHex(bytes));
    }

    /** With long bytes written out. */
    private static JsonElement expanded(JsonElement of) {
        if (of.isJsonObject()) {
            JsonObject repeated = of.getAsJsonObject();
            int times = repeated.get("times").getAsInt();
            return new JsonPrimitive(repeated.get("repeat").getAsString().repeat(times));
        }
        if (of.isJsonArray()) {
            JsonArray all = new JsonArray();
            of.getAsJsonArray().forEach(item -> all.add(expanded(item)));
            return all;
        }
        return of;
    }
}
