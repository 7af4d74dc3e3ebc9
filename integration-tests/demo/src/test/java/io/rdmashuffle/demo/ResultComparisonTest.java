// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class ResultComparisonTest {
    private static List<@Nullable Object> row(@Nullable Object... cells) {
        return Arrays.asList(cells);
    }

    @Test
    void orderDoesNotMatter() {
        assertThat(ResultComparison.equal(
                        List.of(row("a", 1.0), row("b", null)), List.of(row("b", null), row("a", 1.0))))
                .isTrue();
    }

    @Test
    void numberOfEqualRowsMatters() {
        assertThat(ResultComparison.equal(List.of(row("a"), row("a"), row("b")), List.of(row("a"), row("b"), row("b"))))
                .isFalse();
        assertThat(ResultComparison.equal(List.of(row("a")), List.of(row("a"), row("a"))))
                .isFalse();
        assertThat(ResultComparison.equal(
                        List.of(row("a", 1.0), row("a", 1.0), row("a", 2.0)),
                        List.of(row("a", 1.0), row("a", 2.0), row("a", 2.0))))
                .isFalse();
    }

    @Test
    void exactCellsMustBeTheSame() {
        assertThat(ResultComparison.equal(List.of(row("1.00")), List.of(row("1.0"))))
                .isFalse();
        assertThat(ResultComparison.equal(List.of(row((Object) null)), List.of(row(""))))
                .isFalse();
        assertThat(ResultComparison.equal(List.of(row((Object) null)), List.of(row(0.0))))
                .isFalse();
        assertThat(ResultComparison.equal(List.of(row("1.0")), List.of(row(1.0))))
                .isFalse();
    }

    @Test
    void floatingPointMayDifferInItsLastBits() {
        double sum = 0.1 + 0.2 + 0.3;
        double otherOrder = 0.3 + 0.2 + 0.1;
        assertThat(sum).isNotEqualTo(otherOrder);
        assertThat(ResultComparison.equal(List.of(row("a", sum)), List.of(row("a", otherOrder))))
                .isTrue();
        assertThat(ResultComparison.equal(List.of(row("a", 1.0)), List.of(row("a", 1.000001))))
                .isFalse();
        assertThat(ResultComparison.equal(List.of(row("a", 0.0)), List.of(row("a", -0.0))))
                .isTrue();
        assertThat(ResultComparison.equal(List.of(row("a", 0.0)), List.of(row("a", 1e-12))))
                .isFalse();
    }

    @Test
    void manyRowsOfNothingButNumbersPairUp() {
        long seed = 20261121L;
        Random random = new Random(seed);
        List<List<@Nullable Object>> left = new ArrayList<>();
        List<List<@Nullable Object>> right = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            double value = random.nextInt(500);
            left.add(row(value, value / 3));
            right.add(row(value * (1 + 1e-14), value / 3));
        }
        Collections.shuffle(right, random);
        assertThat(ResultComparison.equal(left, right)).as("seed %d", seed).isTrue();
        right.set(0, row(1e6, 1.0));
        assertThat(ResultComparison.equal(left, right)).as("seed %d", seed).isFalse();
    }

    @Test
    void containedIsOneWay() {
        List<List<@Nullable Object>> whole = List.of(row("a"), row("b"), row("b"));
        assertThat(ResultComparison.contained(List.of(row("b"), row("b")), whole))
                .isTrue();
        assertThat(ResultComparison.contained(List.of(row("a"), row("a")), whole))
                .isFalse();
        assertThat(ResultComparison.contained(List.of(), whole)).isTrue();
    }

    @Test
    void rowsSurviveTheFile(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("result.json");
        List<Row> rows = List.of(
                RowFactory.create("a|\"b\"\n", 7, 1L << 60, new BigDecimal("12.50"), 0.1, 0.5f, null),
                RowFactory.create("é", 0, 0L, new BigDecimal("1E+3"), Double.NaN, 1f, null));

        ResultFile.write(file, rows);

        assertThat(ResultFile.read(file))
                .containsExactly(
                        row("a|\"b\"\n", "7", "1152921504606846976", "12.50", 0.1, 0.5, null),
                        row("é", "0", "0", "1000", "NaN", 1.0, null));
    }
}
