// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.it.GuaranteesDocument.Named;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every row of {@code docs/guarantees.md} names tests, and they exist; {@link GuaranteesIT} asks whether they ran. */
@Tag("unit")
class GuaranteesTest {
    @Test
    void everyRowNamesTestsThatExist() throws IOException {
        Path root = Workspace.find().root();
        assertThat(GuaranteesDocument.modules(root)).hasSize(9);
        GuaranteesDocument document = GuaranteesDocument.read(root);
        assertThat(document.rows()).hasSizeGreaterThan(30);
        document.rows().forEach((row, tests) -> {
            assertThat(tests).as("tests in: %s", row).isNotEmpty();
            assertThat(tests).as(row).allMatch(Named::exists);
        });
    }
}
