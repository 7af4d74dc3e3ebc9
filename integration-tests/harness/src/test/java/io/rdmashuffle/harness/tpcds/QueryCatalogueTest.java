// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class QueryCatalogueTest {
    private final QueryCatalogue catalogue;

    QueryCatalogueTest() throws IOException {
        catalogue = QueryCatalogue.load();
    }

    @Test
    void allIsTheNinetyNineWithTheirVariants() {
        assertThat(catalogue.all()).hasSize(103).startsWith("q1", "q2", "q3").endsWith("q98", "q99");
        assertThat(catalogue.all().stream()
                        .map(name -> name.replaceAll("[a-z]$", ""))
                        .distinct())
                .hasSize(99);
    }

    @Test
    void everyNameHasAText() throws IOException {
        for (String name : catalogue.names()) {
            assertThat(catalogue.text(name).toLowerCase(java.util.Locale.ROOT)).contains("select");
        }
        assertThat(catalogue.text("q5a-v2.7")).isNotEqualTo(catalogue.text("q5"));
    }

    @Test
    void resolvesNamesInOrderOnceAndVariantsByNumber() {
        assertThat(catalogue.resolve(List.of("q7", " Q3", "q7", "q14", "q5a-v2.7")))
                .containsExactly("q7", "q3", "q14a", "q14b", "q5a-v2.7");
        assertThat(catalogue.resolve(List.of("all"))).isEqualTo(catalogue.all());
    }

    @Test
    void unknownNameListsTheValidOnes() {
        assertThatThrownBy(() -> catalogue.resolve(List.of("q3", "q100")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'q100'")
                .hasMessageContaining("q99")
                .hasMessageContaining("q5a-v2.7");
    }

    @Test
    void schemaHasTwentyFourTables() {
        assertThat(TpcdsSchema.columnsByTable()).hasSize(24).containsKeys("store_sales", "web_page");
    }
}
