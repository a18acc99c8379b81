package huon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each program of the README runs as it stands there, and prints what it says. */
final class ReadmeTest {
    @TempDir Path folder;

    @Test
    void programs() throws Exception {
        String readme = Files.readString(Path.of("README.md"));
        Matcher blocks = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(readme);
        int count = 0;
        while (blocks.find()) {
            run(blocks.group(1), "Program" + ++count);
        }
        assertTrue(count >= 2);
    }

    private void run(String program, String name) throws IOException, InterruptedException {
        Path source = Files.writeString(folder.resolve(name + ".java"), program);
        Process java =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "--enable-native-access=ALL-UNNAMED",
                                "-cp",
                                Path.of("target", "classes").toAbsolutePath().toString(),
                                source.toString())
                        .directory(folder.toFile())
                        .redirectErrorStream(true)
                        .start();
        java.getOutputStream().close();
        String printed = new String(java.getInputStream().readAllBytes());
        assertEquals(0, java.waitFor(), printed);
        List<String> expected = new ArrayList<>();
        Matcher lines = Pattern.compile("(?m)^// prints: (.*)$").matcher(program);
        while (lines.find()) {
            expected.add(lines.group(1));
        }
        assertEquals(expected, printed.lines().toList());
    }
}
