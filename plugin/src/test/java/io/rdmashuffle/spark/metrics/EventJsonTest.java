// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.store.ShuffleCounter;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.util.JsonProtocol;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Events as Spark writes them into its event log and reads them from there. */
@Tag("unit")
@Timeout(60)
class EventJsonTest {
    private static String written(SparkListenerEvent event) {
        return JsonProtocol.sparkEventToJsonString(event);
    }

    private static SparkListenerEvent read(String json) {
        return JsonProtocol.sparkEventFromJson(json);
    }

    @Test
    void aReportComesBackAsItWas() {
        ExecutorReport report =
                TestReports.kept("7", false, Map.of(ShuffleCounter.SHM_BYTES, 1L << 40, ShuffleCounter.POOL_FULL, 14L));
        String json = written(new SparkListenerRdmaShuffleExecutor(report));
        assertThat(json)
                .startsWith("{\"Event\":\"io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleExecutor\"")
                .contains("\"shm\":1099511627776", "\"readLatencies\":[")
                .hasSizeLessThan(2048);

        ExecutorReport again = ((SparkListenerRdmaShuffleExecutor) read(json)).report();
        assertThat(again).usingRecursiveComparison().isEqualTo(report);
        assertThat(again.get(ShuffleCounter.POOL_FULL)).isEqualTo(14);
        assertThat(again.readLatencies().total()).isEqualTo(6);
    }

    @Test
    void applicationStateRoundTrip() {
        ApplicationInfo info = new ApplicationInfo("1.0", "why", Map.of("key", "8m (default 1g)"), Map.of("key", "8m"));
        ApplicationInfo again = ((SparkListenerRdmaShuffleApplication)
                        read(written(new SparkListenerRdmaShuffleApplication(info))))
                .info();
        assertThat(again).usingRecursiveComparison().isEqualTo(info);
    }

    @Test
    void toleratesNewerAndOlderVersions() {
        String json = "{\"Event\":\"io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleExecutor\",\"extra\":1,"
                + "\"report\":{\"executorId\":\"3\",\"counters\":{\"shm\":5,\"unheardOf\":6},\"more\":[]}}";
        ExecutorReport report = ((SparkListenerRdmaShuffleExecutor) read(json)).report();
        assertThat(report.executorId()).isEqualTo("3");
        assertThat(report.get(ShuffleCounter.SHM_BYTES)).isEqualTo(5);
        assertThat(report.paths()).isEmpty();
        assertThat(report.whyNotRdma()).isEmpty();
    }
}
