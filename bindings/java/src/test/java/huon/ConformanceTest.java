package huon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the cases that all languages run, and exchanges files with them. */
final class ConformanceTest {
    private static final Path SHARED = Path.of("..", "conformance");

    @TempDir Path folder;
    private int steps;

    @Test
    void casesOfAllLanguages() throws IOException {
        assumeTrue(Files.isDirectory(SHARED));
        int cases = 0;
        for (Path file : files()) {
            JsonObject all = read(file);
            assertEquals(1, all.get("format").getAsInt(), file.toString());
            for (JsonElement one : all.getAsJsonArray("cases")) {
                Path fresh = Files.createDirectory(folder.resolve("case" + cases++));
                run(one.getAsJsonObject(), fresh.resolve("case.huon"), Durability.LAZY, null);
            }
        }
        assertTrue(cases > 0);
        System.out.println("conformance: " + cases + " cases, " + steps + " steps");
    }

    @Test
    void filesOfAllLanguages() throws IOException {
        Path file = SHARED.resolve("exchange.json");
        assumeTrue(Files.exists(file));
        JsonObject exchange = read(file).getAsJsonArray("cases").get(0).getAsJsonObject();
        String write = System.getenv("HUON_EXCHANGE_WRITE");
        String read = System.getenv("HUON_EXCHANGE_READ");
        Path own = folder.resolve("x.huon");
        if (write != null || read == null) {
            Path at = write == null ? own : Path.of(write);
            run(exchange, at, Durability.DURABLE, "write");
        }
        if (read != null || write == null) {
            for (String at : read == null ? new String[] {own.toString()} : read.split(":")) {
                run(exchange, Path.of(at), Durability.DURABLE, "read");
            }
        }
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> shared = Files.list(SHARED)) {
            return shared.filter(f -> f.getFileName().toString().matches("cases.*\\.json"))
                    .sorted()
                    .toList();
        }
    }

    private static JsonObject read(Path file) throws IOException {
        return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
    }

    private void run(JsonObject one, Path file, Durability durability, String part) {
        JsonArray all = one.getAsJsonArray("steps");
        try (Steps runner = new Steps(file, new Options().durability(durability))) {
            for (int i = 0; i < all.size(); i++) {
                JsonObject step = all.get(i).getAsJsonObject();
                if (part != null && !part.equals(step.get("part").getAsString())) {
                    continue;
                }
                steps++;
                try {
                    runner.run(step);
                } catch (AssertionError | RuntimeException e) {
                    fail(one.get("name") + ", step " + i + ": " + step, e);
                }
            }
        }
    }
}
