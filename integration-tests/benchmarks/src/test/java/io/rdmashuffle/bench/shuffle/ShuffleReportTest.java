// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.CaseCatalogue;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.bench.jobs.TaskTotals;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class ShuffleReportTest {
    private static final BenchCase CASE =
            CaseCatalogue.select(List.of("repartition-400-100B")).get(0);

    private static Measurement run(long millis, long records, Map<String, Long> counters) {
        TaskTotals tasks = new TaskTotals(records, 500_000_000, records, 500_000_000, 40, 0, 16, 9, 0);
        return new Measurement(millis, millis * 2 + 500, 500, 7, tasks, 2_000_000, 1_000, 0, counters, Map.of());
    }

    private static ConfigurationResult result(long full, long unshuffled, long fewRows, Map<String, Long> counters) {
        ConfigurationResult result = new ConfigurationResult(50);
        for (long noise : new long[] {0, -90, 100}) {
            result.add(Form.FULL, run(full + noise, 1_000, counters));
        }
        result.add(Form.UNSHUFFLED, run(unshuffled, 0, Map.of()));
        result.add(Form.FEW_ROWS, run(fewRows, 20, Map.of()));
        return result;
    }

    private static CaseResult comparison(ConfigurationResult ours) {
        Map<Configuration, ConfigurationResult> results = new EnumMap<>(Configuration.class);
        results.put(Configuration.SORT_DISK, result(10_000, 4_000, 1_000, Map.of()));
        results.put(Configuration.SORT_TMPFS, result(8_000, 4_000, 1_000, Map.of()));
        results.put(Configuration.SORT_BARE, result(7_000, 4_000, 1_000, Map.of()));
        results.put(Configuration.OURS, ours);
        return new CaseResult(CASE, 8_000, results, "");
    }

    private static ConfigurationResult ours() {
        return result(5_000, 2_000, 3_000, Map.of("poolPeak", 900L, "poolUsed", 700L));
    }

    @Test
    void overheadIsWhatIsAboveTheLargerFloor() {
        CaseResult result = comparison(ours());
        assertThat(result.of(Configuration.SORT_DISK).overheadSeconds().orElseThrow())
                .isCloseTo(6, within(1e-9));
        assertThat(result.of(Configuration.OURS).floorSeconds()).hasValue(3);
        assertThat(result.of(Configuration.OURS).overheadSeconds().orElseThrow())
                .isCloseTo(2, within(1e-9));
        assertThat(result.totalRatio(Configuration.SORT_DISK)).hasValue(2);
        assertThat(result.totalRatio(Configuration.SORT_TMPFS)).hasValue(1.6);
        assertThat(result.fastestSort()).isEqualTo(Configuration.SORT_BARE);
        assertThat(result.totalRatio(result.fastestSort())).hasValue(1.4);
        assertThat(result.overheadRatio(Configuration.SORT_DISK).orElseThrow()).isCloseTo(3, within(1e-9));
        assertThat(result.cpuRatio(Configuration.SORT_DISK)).hasValue(2);
        // 10 s of CPU for the half GB that sort shuffle writes.
        assertThat(result.of(Configuration.OURS).cpuSecondsPerGigabyte(result.referenceBytes()))
                .isEqualTo(20);
        assertThat(result.ok()).isTrue();
    }

    /** Rounds are measured in turn, so that a slow minute of the machine is in both figures of a ratio. */
    @Test
    void ratiosSpreadAsThoseOfTheirRoundsDo() {
        Spread rounds = comparison(ours()).totalRatioOfRounds(Configuration.SORT_DISK);
        assertThat(rounds.median()).isEqualTo(2);
        assertThat(rounds.min()).isCloseTo(10_100.0 / 5_100, within(1e-9));
        assertThat(rounds.max()).isCloseTo(9_910.0 / 4_910, within(1e-9));
    }

    @Test
    void noOverheadIsSaidAndNotDividedBy() {
        CaseResult result = comparison(result(3_000, 3_100, 1_000, Map.of()));
        assertThat(result.overheadRatio(Configuration.SORT_DISK)).isEmpty();
        assertThat(result.withinNoise()).singleElement().asString().contains("ours is within noise (-0.10 s)");
        assertThat(ShuffleTables.render(new ShuffleReport("shuffle", Map.of(), List.of(result))))
                .contains("within noise")
                .doesNotContain("Infinity");
    }

    /** As with --cold. */
    @Test
    void withoutFloorsThereIsNoOverheadAndAllElse(@TempDir Path folder) throws Exception {
        Map<Configuration, ConfigurationResult> results = new EnumMap<>(Configuration.class);
        for (Configuration configuration : Configuration.values()) {
            ConfigurationResult result = new ConfigurationResult(0);
            result.add(Form.FULL, run(configuration == Configuration.OURS ? 5_000 : 8_000, 1_000, Map.of()));
            results.put(configuration, result);
        }
        CaseResult result = new CaseResult(CASE, 8_000, results, "");
        assertThat(result.ok()).isTrue();
        assertThat(result.totalRatio(Configuration.SORT_DISK)).hasValue(1.6);
        assertThat(result.overheadRatio(Configuration.SORT_DISK)).isEmpty();
        assertThat(result.withinNoise()).isEmpty();
        ShuffleReport report = new ShuffleReport("shuffle", Map.of(), List.of(result));
        assertThat(ShuffleTables.render(report)).contains("1.60").contains("- / - / - / -");
        Path file = folder.resolve("report.json");
        report.writeJson(file);
        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/cases/0/ratios/sort-disk/overhead").isNull()).isTrue();
        assertThat(json.at("/cases/0/configurations/ours").has("overheadSeconds"))
                .isFalse();
        assertThat(json.at("/cases/0/configurations/ours/totalSeconds/median").asDouble())
                .isEqualTo(5);
    }

    @Test
    void reportsCasesBelowTheirFloor() {
        ShuffleReport report = new ShuffleReport("shuffle", Map.of(), List.of(comparison(ours())));
        double ratio =
                comparison(ours()).totalRatio(comparison(ours()).fastestSort()).orElseThrow();
        assertThat(report.below(Map.of(CASE.name(), ratio))).isEmpty();
        assertThat(report.below(Map.of("another", 99.0))).isEmpty();
        assertThat(report.below(Map.of(CASE.name(), ratio + 0.1)))
                .singleElement()
                .asString()
                .startsWith(CASE.name() + ": ");
    }

    @Test
    void otherRecordsAreAnError() {
        ConfigurationResult ours = ours();
        ours.add(Form.FULL, run(5_000, 999, Map.of()));
        CaseResult result = comparison(ours);
        assertThat(result.ok()).isFalse();
        assertThat(result.disagreements())
                .singleElement()
                .asString()
                .contains("999 records")
                .contains("1000 records");
        assertThat(new ShuffleReport("shuffle", Map.of(), List.of(result)).acceptable())
                .isFalse();
    }

    @Test
    void aFloorThatShufflesIsAnError() {
        ConfigurationResult ours = ours();
        ours.add(Form.UNSHUFFLED, run(5_000, 10, Map.of()));
        assertThat(comparison(ours).disagreements()).anyMatch(line -> line.contains("floor without a shuffle"));
    }

    @Test
    void recordsThatWereNotReadAreAnError() {
        ConfigurationResult ours = ours();
        TaskTotals lost = new TaskTotals(1_000, 1, 990, 1, 0, 0, 0, 0, 0);
        ours.add(Form.FULL, new Measurement(5_000, 1, 0, 1, lost, 0, 0, 0, Map.of(), Map.of()));
        assertThat(comparison(ours).disagreements()).anyMatch(line -> line.contains("read 990"));
    }

    @Test
    void thePeakIsExactOnlyIfThisCaseRaisedIt() {
        assertThat(ours().poolPeakIsExact()).isTrue();
        assertThat(ours().poolPeakBytes()).isEqualTo(900);
        ConfigurationResult later = new ConfigurationResult(900);
        later.add(Form.FULL, run(1, 1, Map.of("poolPeak", 900L, "poolUsed", 700L)));
        assertThat(later.poolPeakIsExact()).isFalse();
        assertThat(later.poolPeakBytes()).isEqualTo(700);
    }

    @Test
    void jsonHasTheAgreedFields(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.json");
        new ShuffleReport(
                        "shuffle",
                        Map.of("rows", 8_000),
                        List.of(
                                comparison(ours()),
                                comparison(result(3_000, 3_100, 1_000, Map.of())),
                                CaseResult.failed(CASE, 8_000, "gone")))
                .writeJson(file);

        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/settings/rows").asLong()).isEqualTo(8_000);
        assertThat(json.at("/cases/0/name").asText()).isEqualTo("repartition-400-100B");
        assertThat(json.at("/cases/0/ratios/sort-disk/total").asDouble()).isEqualTo(2);
        assertThat(json.at("/cases/0/ratios/sort-disk/overhead").asDouble()).isCloseTo(3, within(1e-9));
        assertThat(json.at("/cases/0/ratios/sort-disk/cpu").asDouble()).isEqualTo(2);
        assertThat(json.at("/cases/0/fastestSort").asText()).isEqualTo("sort-bare");
        assertThat(json.at("/cases/0/ratios/sort-bare/total").asDouble()).isEqualTo(1.4);
        assertThat(json.at("/cases/0/ratios/sort-bare/rounds/median").asDouble())
                .isEqualTo(1.4);
        assertThat(json.at("/cases/0/configurations/ours/memoryBytes").asLong()).isEqualTo(2_000_000);
        assertThat(json.at("/cases/0/configurations/ours/totalSeconds/median").asDouble())
                .isEqualTo(5);
        assertThat(json.at("/cases/0/configurations/ours/totalSeconds/min").asDouble())
                .isEqualTo(4.91);
        assertThat(json.at("/cases/0/configurations/ours/runs/FULL/2/millis").asLong())
                .isEqualTo(5_100);
        assertThat(json.at("/cases/1/ratios/sort-disk/overhead").isNull()).isTrue();
        assertThat(json.at("/cases/2/ok").asBoolean()).isFalse();
        assertThat(json.at("/cases/2/error").asText()).isEqualTo("gone");
    }
}
