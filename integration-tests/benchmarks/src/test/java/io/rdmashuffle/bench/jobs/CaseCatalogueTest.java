// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmashuffle.bench.jobs.BenchJob.Form;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class CaseCatalogueTest {
    private static List<String> select(String... wanted) {
        return CaseCatalogue.select(List.of(wanted)).stream()
                .map(BenchCase::name)
                .toList();
    }

    @Test
    void casesAreSelectedByNameBeginningAndPattern() {
        assertThat(select("repartition-400-100B")).containsExactly("repartition-400-100B");
        assertThat(select("repartition-64")).containsExactly("repartition-64-100B", "repartition-64-1KB");
        assertThat(select("*-1KB"))
                .containsExactly("repartition-64-1KB", "repartition-400-1KB", "repartition-2000-1KB");
        assertThat(select("????-400")).containsExactly("join-400", "skew-400");
        assertThat(select("all")).hasSize(CaseCatalogue.ALL.size());
    }

    @Test
    void eachCaseComesOnceAndInTheCataloguesOrder() {
        assertThat(select("skew", "terasort-400", "skew-400")).containsExactly("terasort-400", "skew-400");
    }

    @Test
    void unknownCaseIsRefusedWithAllNames() {
        for (String wrong : List.of("sort", "*-3", "", "repartition-400-100B-x")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> select("skew-400", wrong))
                    .withMessageContaining("--cases " + wrong)
                    .withMessageContaining(CaseCatalogue.names());
        }
    }

    @Test
    void largeRowsAreFewerAndTheFloorHasFewRows() {
        BenchCase large = CaseCatalogue.select(List.of("repartition-400-1KB")).get(0);
        assertThat(large.job(Form.FULL, 8_000_000))
                .isEqualTo(new BenchJob(BenchJob.Kind.REPARTITION, 800_000, 400, 1_000, Form.FULL));
        assertThat(large.job(Form.UNSHUFFLED, 8_000_000).rows()).isEqualTo(800_000);
        assertThat(large.job(Form.FEW_ROWS, 8_000_000).rows()).isEqualTo(2_000);
        assertThat(large.job(Form.FEW_ROWS, 8_000_000).shuffles()).isTrue();
        assertThat(large.job(Form.UNSHUFFLED, 8_000_000).shuffles()).isFalse();
    }
}
