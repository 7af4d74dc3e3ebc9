// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.metadata.Traffic.Flow;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class MetadataReportTest {
    private static final Traffic JOIN = new Traffic(new Flow(3, 600), new Flow(3, 1_200), new Flow(3, 630), Flow.NONE);
    private static final Traffic NOTHING = new Traffic(Flow.NONE, Flow.NONE, Flow.NONE, Flow.NONE);

    private final MetadataReport report = new MetadataReport(
            Map.of("rounds", 5),
            List.of(new Figures(
                    new Scale(10, 20, 3),
                    JOIN,
                    NOTHING,
                    777,
                    new Latency(40_500, 90_000),
                    new Latency(20_000, 30_000),
                    new Spread(9e6, 8e6, 10e6),
                    new Spread(2e6, 1e6, 3e6),
                    new Figures.Memory(64, 128, 256, 512))));

    @Test
    void goalsStandBesideFigures() {
        assertThat(report.render().lines().toList())
                .anySatisfy(line -> assertThat(line).contains("publish us, fresh", "< 100", "40.5 / 90.0"))
                .anySatisfy(line -> assertThat(line).contains("lookup ms, cold", "< 5", "9.00 (8.00-10.00)"))
                .anySatisfy(line -> assertThat(line).contains("join: its replies", "3, 1.2 KB"))
                .anySatisfy(line -> assertThat(line).contains("10 maps, 20 partitions, 3 executors"));
    }

    @Test
    void jsonHasOneCaseForEachScale(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.json");
        report.writeJson(file);
        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/bench").asText()).isEqualTo("metadata");
        assertThat(json.at("/goals/publishMicros").asDouble()).isEqualTo(100);
        JsonNode only = json.at("/cases/0");
        assertThat(only.at("/name").asText()).isEqualTo("10x20/3");
        assertThat(only.at("/join/requests/messages").asLong()).isEqualTo(3);
        assertThat(only.at("/life/pushes/messages").asLong()).isZero();
        assertThat(only.at("/publishFreshMicros/p99").asDouble()).isEqualTo(90);
        assertThat(only.at("/lookupWarmMillis/median").asDouble()).isEqualTo(2);
        assertThat(only.at("/memory/indexBytes").asLong()).isEqualTo(256);
    }

    @Test
    void percentilesAreOfTheSortedValues() {
        long[] values = LongStream.rangeClosed(1, 200).map(i -> 201 - i).toArray();
        assertThat(Latency.of(values)).isEqualTo(new Latency(101, 199));
        assertThat(Latency.of(new long[] {7})).isEqualTo(new Latency(7, 7));
    }

    @Test
    void trafficIsWhatCameSince() {
        Traffic later = new Traffic(new Flow(5, 1_000), new Flow(5, 2_000), new Flow(3, 630), new Flow(1, 9));
        assertThat(later.since(JOIN))
                .isEqualTo(new Traffic(new Flow(2, 400), new Flow(2, 800), Flow.NONE, new Flow(1, 9)));
        assertThat(later.messages()).isEqualTo(14);
    }
}
