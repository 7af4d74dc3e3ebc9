// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class ShuffleTableTest {
    private static final ShuffleTable TABLE = new ShuffleTable(List.of(
            new ShuffleTable.Row("q1", 900, 10),
            new ShuffleTable.Row("q2", 300, 1),
            new ShuffleTable.Row("q3", 0, 5),
            new ShuffleTable.Row("q4", 800, 4)));

    @Test
    void theHeaviestWriteMostForTheirTimeAndNotMost() {
        assertThat(TABLE.heaviest(2)).containsExactly("q2", "q4");
        assertThat(TABLE.heaviest(3)).containsExactly("q1", "q2", "q4");
    }

    @Test
    void roundTrip(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("table.csv");
        TABLE.write(file, Map.of("scale", 1));
        String text = Files.readString(file);
        assertThat(text).startsWith("# ").contains("{scale=1}");
        assertThat(ShuffleTable.parse(text)).isEqualTo(TABLE);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShuffleTable.parse("q1,2"))
                .withMessageContaining("q1,2");
    }

    @Test
    void theTableOfTheSourcesHasEveryQueryOnce() throws Exception {
        List<String> queries =
                ShuffleTable.load().rows().stream().map(ShuffleTable.Row::query).toList();
        assertThat(queries)
                .containsExactlyElementsOf(QueryCatalogue.load().all())
                .hasSize(103);
        assertThat(ShuffleTable.load().heaviest(TpcdsOptions.SUBSET)).hasSize(TpcdsOptions.SUBSET);
    }
}
