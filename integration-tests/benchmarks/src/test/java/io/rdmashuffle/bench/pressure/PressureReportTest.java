// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.CaseCatalogue;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.bench.jobs.TaskTotals;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;

@Tag("unit")
class PressureReportTest {
    private static final BenchCase CASE =
            CaseCatalogue.select(List.of("repartition-400-100B")).get(0);
    private static final Map<String, Long> AFTER = Map.of("poolUsed", 3L << 20, "diskUsed", 7L << 20);
    private static final Map<String, Long> GAINED = Map.of("poolWaitMillis", 20L, "local", 5L << 20, "shm", 5L << 20);

    private static Measurement run(long millis, long records) {
        TaskTotals tasks = new TaskTotals(records, 1, records, 1, 0, 0, 0, 2_000, 0);
        return new Measurement(millis, 1, 0, 1, tasks, 0, 0, 0, AFTER, GAINED);
    }

    private static PressurePoint point(Transfer transfer, String size, long oursMillis, long oursRecords) {
        Map<Configuration, List<Measurement>> runs = new EnumMap<>(Configuration.class);
        runs.put(Configuration.SORT_DISK, List.of(run(3_000, 100), run(3_100, 100), run(2_900, 100)));
        runs.put(Configuration.SORT_TMPFS, List.of(run(2_400, 100)));
        runs.put(Configuration.OURS, List.of(run(oursMillis, oursRecords)));
        return new PressurePoint(transfer, CASE, PoolShare.parse(size), 10 << 20, runs, "");
    }

    private static PressureReport report() {
        return new PressureReport(
                Map.of("rows", 9),
                List.of(
                        point(Transfer.IN_PLACE, "2", 1_500, 100),
                        point(Transfer.IN_PLACE, "1/10", 2_000, 100),
                        point(Transfer.COPYING, "2", 2_500, 100)));
    }

    @Test
    void aPointSaysRatiosWaitsAndBytes() {
        PressurePoint point = point(Transfer.IN_PLACE, "1/10", 2_000, 100);
        assertThat(point.ratio(Configuration.SORT_DISK).orElseThrow()).isCloseTo(1.5, within(1e-9));
        assertThat(point.ratio(Configuration.SORT_TMPFS).orElseThrow()).isCloseTo(1.2, within(1e-9));
        assertThat(point.waitShare()).isCloseTo(0.01, within(1e-9));
        assertThat(point.ok()).isTrue();
        assertThat(report().render())
                .contains("1/10")
                .contains("1.50")
                .contains("1.00 %")
                .contains("copying")
                .contains("5.2 MB / 5.2 MB / 0 / 0 / 0");
        assertThat(report().acceptable()).isTrue();
    }

    @Test
    void otherRecordsAndFailuresAreErrorsWithTheirNames() {
        PressurePoint fewer = point(Transfer.COPYING, "1", 2_000, 99);
        PressurePoint gone =
                new PressurePoint(Transfer.IN_PLACE, CASE, PoolShare.parse("0"), 1 << 20, Map.of(), "Spark is gone");
        PressureReport report = new PressureReport(Map.of(), List.of(fewer, gone));
        assertThat(report.acceptable()).isFalse();
        assertThat(report.render())
                .contains("repartition-400-100B copying 1 DISAGREES: not the same work")
                .contains("repartition-400-100B in-place 0 FAILED: Spark is gone");
    }

    @Test
    void tableAndPlotAreWritten(@TempDir Path folder) throws Exception {
        Path into = folder.resolve("new");
        report().writeTo(into);
        List<String> table = Files.readAllLines(into.resolve(PressureReport.TABLE));
        assertThat(table).hasSize(5).allMatch(line -> line.startsWith("| ") && line.endsWith(" |"));
        assertThat(table.get(1)).startsWith("| --- | --- | --: ");

        String plot = Files.readString(into.resolve(PressureReport.PLOT));
        Document svg = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(plot.getBytes(StandardCharsets.UTF_8)));
        assertThat(svg.getElementsByTagName("circle").getLength()).isEqualTo(3);
        assertThat(svg.getElementsByTagName("polyline").getLength()).isEqualTo(2);
        assertThat(plot).contains("repartition-400-100B, in-place").contains("1/10");
    }

    @Test
    void jsonHasEveryRun(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.json");
        report().writeJson(file);
        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/settings/rows").asInt()).isEqualTo(9);
        assertThat(json.at("/points/1/poolShare").asText()).isEqualTo("1/10");
        assertThat(json.at("/points/1/diskBytes").asLong()).isEqualTo(7 << 20);
        assertThat(json.at("/points/1/readBytes/shm").asLong()).isEqualTo(5 << 20);
        assertThat(json.at("/points/0/runs/sort-disk/1/millis").asLong()).isEqualTo(3_100);
    }
}
