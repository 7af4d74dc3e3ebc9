// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the printed report, and of the exit code. */
@Tag("unit")
class HostReportTest {
    private static final Finding OK =
            Finding.ok("system", "Java 17").with("arch", "amd64").with("cpus", 2);

    private static HostReport report(Effect... effects) {
        return new HostReport(
                "0.1.0",
                "host1",
                Stream.concat(
                                Stream.of(OK),
                                Stream.of(effects)
                                        .map(effect -> Finding.wrong("check-" + effect.word(), effect, "bad", "fix")))
                        .toList());
    }

    @Test
    void theWorstFindingDecides() {
        assertThat(report().exitCode()).isZero();
        assertThat(report().rdma()).isTrue();
        assertThat(report(Effect.LESS).exitCode()).isEqualTo(1);
        assertThat(report(Effect.LESS).rdma()).isTrue();
        assertThat(report(Effect.NO_RDMA, Effect.LESS).exitCode()).isEqualTo(1);
        assertThat(report(Effect.NO_RDMA, Effect.LESS).rdma()).isFalse();
        assertThat(report(Effect.SORT_SHUFFLE).exitCode()).isEqualTo(1);
        assertThat(report(Effect.NO_START, Effect.SORT_SHUFFLE).exitCode()).isEqualTo(2);
    }

    @Test
    void theVerdictNamesTheChecksBehindIt() {
        assertThat(report(Effect.LESS, Effect.NO_RDMA).verdict()).contains("not used", "(check-no-rdma)");
        assertThat(report(Effect.NO_START).verdict()).isEqualTo("The application does not start (check-no-start).");
    }

    @Test
    void textHasEveryRemedyBelowItsFinding() {
        assertThat(report(Effect.NO_RDMA).text()).isEqualTo("""
                rdma-shuffle-spark 0.1.0: doctor of host host1
                ok   system            Java 17
                warn check-no-rdma     bad
                                       remedy: fix
                RDMA is not used on this host (check-no-rdma): shared memory and TCP or Netty serve, \
                and jobs are slower. Exit code 1.""");
    }

    /** Not leniently, as Gson's other ways are. */
    private static JsonObject parsed(HostReport report) throws IOException {
        return new Gson().getAdapter(JsonElement.class).fromJson(report.json()).getAsJsonObject();
    }

    private static JsonObject finding(JsonObject document, int index) {
        return document.getAsJsonArray("findings").get(index).getAsJsonObject();
    }

    @Test
    void jsonIsOneDocumentWithStableNames() throws IOException {
        JsonObject json = parsed(report(Effect.NO_RDMA));
        assertThat(json.keySet())
                .containsExactly("format", "version", "host", "exitCode", "effect", "rdma", "verdict", "findings");
        assertThat(json.get("format").getAsInt()).isEqualTo(1);
        assertThat(json.get("rdma").getAsBoolean()).isFalse();
        assertThat(json.get("effect").getAsString()).isEqualTo("no-rdma");
        assertThat(finding(json, 0).keySet())
                .containsExactly("check", "status", "effect", "message", "remedy", "facts");
        assertThat(finding(json, 0).getAsJsonObject("facts").get("cpus").getAsInt())
                .isEqualTo(2);
        assertThat(finding(json, 1).get("status").getAsString()).isEqualTo("warn");
    }

    @Test
    void jsonEscapesWhatMessagesHold() throws IOException {
        String odd = "a \"quoted\" \\ path\nsecond\tline \u0001 \u00e9";
        Finding finding =
                Finding.ok("system", odd).with("list", List.of("x", 1.5)).with("nan", Double.NaN);
        JsonObject read = finding(parsed(new HostReport("v", "h", List.of(finding))), 0);
        assertThat(read.get("message").getAsString()).isEqualTo(odd);
        assertThat(read.getAsJsonObject("facts").getAsJsonArray("list").get(1).getAsDouble())
                .isEqualTo(1.5);
        assertThat(read.getAsJsonObject("facts").get("nan").isJsonNull()).isTrue();
    }

    @Test
    void aFindingHasARemedyIfAndOnlyIfSomethingIsWrong() {
        assertThatThrownBy(() -> Finding.wrong("a", Effect.LESS, "bad", "")).hasMessageContaining("remedy");
        assertThatThrownBy(() -> Finding.wrong("a", Effect.NONE, "fine", "fix")).hasMessageContaining("remedy");
    }
}
