// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ConfigurationDocTest {
    private static final String COMMAND =
            "mvn -B -pl plugin -am test -Dtest=ConfigurationDocTest -Dsurefire.failIfNoSpecifiedTests=false"
                    + " -Dregenerate.docs=true";

    @Test
    void documentIsWhatTheEntriesSay() throws IOException {
        Path document = ProjectFiles.path("docs/configuration.md");
        String rendered = ConfigurationDocument.render(COMMAND);
        if (Boolean.getBoolean("regenerate.docs")) {
            Files.createDirectories(document.getParent());
            Files.writeString(document, rendered);
        }
        assertThat(document)
                .as("docs/configuration.md is generated from ShuffleConfig; regenerate it with: %s", COMMAND)
                .exists()
                .content()
                .isEqualTo(rendered);
    }
}
