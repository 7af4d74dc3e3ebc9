// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.cli.ReadableBytes;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class DemoReportTest {
    private static QueryComparison query(String name, QueryVerdict verdict, Map<String, Long> counters) {
        QueryReply sort = new QueryReply(name, 5, 200, 350, 1_000, Map.of(), QueryWork.NONE, "");
        return new QueryComparison(
                name, verdict, sort, new QueryReply(name, 5, 100, 150, 1_000, counters, QueryWork.NONE, ""));
    }

    @Test
    void onlyWhatSortShuffleCanRunDecides() {
        QueryComparison equal = query("q1", QueryVerdict.EQUAL, Map.of());
        assertThat(report(equal, query("q2", QueryVerdict.NOT_RUN, Map.of())).acceptable())
                .isTrue();
        assertThat(report(equal, query("q2", QueryVerdict.EQUAL_BUT_TIES, Map.of()))
                        .acceptable())
                .isTrue();
        assertThat(report(equal, query("q2", QueryVerdict.DIFFERENT, Map.of())).acceptable())
                .isFalse();
        assertThat(report(equal, query("q2", QueryVerdict.OURS_FAILED, Map.of()))
                        .acceptable())
                .isFalse();
    }

    private static DemoReport report(QueryComparison... queries) {
        return new DemoReport("shm", List.of(queries), Map.of("poolUsed", 0L));
    }

    @Test
    void jsonHasTheAgreedFields(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.json");
        report(
                        query("q1", QueryVerdict.EQUAL, Map.of("shm", 7L, "local", 3L)),
                        query("q2", QueryVerdict.DIFFERENT, Map.of("shm", 5L)))
                .writeJson(file);

        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/queries/0/name").asText()).isEqualTo("q1");
        assertThat(json.at("/queries/0/rows").asLong()).isEqualTo(5);
        assertThat(json.at("/queries/0/equal").asBoolean()).isTrue();
        assertThat(json.at("/queries/1/equal").asBoolean()).isFalse();
        assertThat(json.at("/queries/0/sortMs").asLong()).isEqualTo(200);
        assertThat(json.at("/queries/0/rdmaMs").asLong()).isEqualTo(100);
        assertThat(json.get("bytes").toString())
                .isEqualTo("{\"local\":3,\"shm\":12,\"verbs\":0,\"tcp\":0,\"netty\":0,\"file\":0}");
    }

    @Test
    void tableShowsSizesWithUnitsAndZeroBare() {
        assertThat(ReadableBytes.format(0)).isEqualTo("0");
        assertThat(ReadableBytes.format(999)).isEqualTo("999 B");
        assertThat(ReadableBytes.format(1_500)).isEqualTo("1.5 KB");
        assertThat(ReadableBytes.format(123_456_789)).isEqualTo("123 MB");
        assertThat(ReportTable.render(report(query("q1", QueryVerdict.EQUAL, Map.of("shm", 7L)))))
                .contains("| q1")
                .contains("2.00")
                .contains("7 B");
    }

    @Test
    void requestsAndRepliesAreReadAsTheyWereWritten() throws Exception {
        QueryReply reply = new QueryReply(
                "q1", 5, 200, 350, 1_000, Map.of("shm", 1L), new QueryWork(3, 4, 5, 6, QueryWork.Faults.NONE), "");
        String line = Protocol.reply(reply);
        assertThat(line).startsWith(Protocol.PREFIX);
        assertThat(Protocol.reply(line.substring(Protocol.PREFIX.length()))).isEqualTo(reply);
        QueryRequest request = new QueryRequest(QueryRequest.Operation.RUN, "q1", "/tmp/x");
        assertThat(Protocol.request(Protocol.request(request))).isEqualTo(request);
    }
}
