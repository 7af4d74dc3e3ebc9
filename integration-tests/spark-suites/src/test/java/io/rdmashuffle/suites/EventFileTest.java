// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class EventFileTest {
    @TempDir
    Path folder = Path.of("");

    @Test
    void readsBackWhatWasAddedButNoHalfLine() throws IOException {
        EventFile file = new EventFile(folder.resolve("events"));
        assertThat(file.read()).isEmpty();
        SuiteEvent failed = SuiteEvent.failed("a \"quoted\" näme", 7, "why\tnot");
        SuiteEvent completed = SuiteEvent.completed(Map.of("shuffles.ours", 2L));
        file.add(failed);
        file.add(completed);
        Files.writeString(file.path(), "{\"kind\":\"PAS", StandardOpenOption.APPEND);
        assertThat(file.read()).containsExactly(failed, completed);
    }

    @Test
    void messagesAreOneLine() {
        assertThat(ScalaTestReporter.oneLine("\n first\n second")).isEqualTo("first");
        assertThat(ScalaTestReporter.oneLine("x".repeat(1000))).hasSize(303);
        assertThat(ScalaTestReporter.oneLine("")).isEmpty();
    }
}
