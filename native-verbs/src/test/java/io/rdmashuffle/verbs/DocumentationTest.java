package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The code in docs/native-verbs.md is the code of {@link Examples}, which runs. */
@Tag("unit")
@Timeout(60)
class DocumentationTest {
    private static final Path SOURCE = Path.of("src/test/java/io/rdmashuffle/verbs/Examples.java");
    private static final Path DOCUMENT = Path.of("../docs/native-verbs.md");
    private static final Pattern REGION =
            Pattern.compile("( *)// example: (\\w+)\\n(.*?)\\n *// end\\n", Pattern.DOTALL);
    private static final Pattern BLOCK =
            Pattern.compile("<!-- example: (\\w+) -->\\n```java\\n(.*?)\\n```\\n", Pattern.DOTALL);

    @Test
    void codeBlocksAreTheExamplesThatRun() throws IOException {
        Map<String, String> examples = new TreeMap<>();
        Matcher regions = REGION.matcher(Files.readString(SOURCE));
        while (regions.find()) {
            examples.put(regions.group(2), regions.group(3).replaceAll("(?m)^" + regions.group(1), ""));
        }
        Map<String, String> blocks = new TreeMap<>();
        String document = Files.readString(DOCUMENT);
        Matcher found = BLOCK.matcher(document);
        while (found.find()) {
            blocks.put(found.group(1), found.group(2));
        }
        assertThat(blocks).isEqualTo(examples).hasSizeGreaterThan(10);
        assertThat(document.split("```java", -1)).as("each block is marked").hasSize(blocks.size() + 1);
    }
}
