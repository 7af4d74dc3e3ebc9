// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class TpcdsDataTest {
    @Test
    void aScaleThatDoesNotFitIsRefusedBeforeItIsMade(@TempDir Path folder) {
        TpcdsData data = new TpcdsData(folder, BigDecimal.TEN);
        assertThatCode(() -> data.checkSpace(20_000_000_000L)).doesNotThrowAnyException();
        assertThatIOException()
                .isThrownBy(() -> data.checkSpace(19_900_000_000L))
                .withMessageContaining("scale 10 takes 20.0 GB")
                .withMessageContaining("has 19.9 GB")
                .withMessageContaining("--data");
    }

    @Test
    void filesOfAFolderAreAddedUp(@TempDir Path folder) throws Exception {
        Files.write(folder.resolve("a"), new byte[3]);
        Files.write(Files.createDirectory(folder.resolve("sub")).resolve("b"), new byte[4]);
        assertThat(FolderGrowth.bytes(folder)).isEqualTo(7);
        assertThat(FolderGrowth.bytes(folder.resolve("none"))).isZero();
    }
}
