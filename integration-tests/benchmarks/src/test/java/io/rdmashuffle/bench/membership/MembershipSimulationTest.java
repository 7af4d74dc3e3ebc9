// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(120)
class MembershipSimulationTest {
    private static final int EXECUTORS = 600;

    @Test
    void goalsAreMetWhateverTheSeed(@TempDir Path folder) throws Exception {
        long seed = new Random().nextLong();
        System.out.println("MembershipSimulationTest.goalsAreMetWhateverTheSeed seed " + seed);
        List<String> done = new ArrayList<>();
        MembershipReport report = new MembershipSimulation(EXECUTORS, seed, done::add).run();
        assertThat(done).hasSize(MembershipSimulation.SCENARIOS);
        for (MembershipFigures each : report.figures()) {
            assertThat(each.driver().sentMessages()).as("%s", each).isLessThan(each.goal());
            assertThat(each.driver().receivedMessages()).as("%s", each).isLessThan(each.goal());
            assertThat(each.driver().receivedBytes()).as("%s", each).isLessThan(each.goal() * each.memberBytes());
            assertThat(each.seconds()).as("%s", each).isBetween(0.0, each.goalSeconds());
        }
        MembershipFigures join = report.figures().get(0);
        assertThat(join.snapshots().fromPeers()).isGreaterThan(EXECUTORS / 2);
        assertThat(join.snapshots().fromDriver()).isLessThan(EXECUTORS / 20);

        assertThat(report.render().lines().toList())
                .anySatisfy(line -> assertThat(line).contains("600 executors", "half removed at once"))
                .anySatisfy(line -> assertThat(line).contains("goal", "< 10", "< 70"));
        Path file = folder.resolve("report.json");
        report.writeJson(file);
        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/mode").asText()).isEqualTo("membership");
        assertThat(json.at("/settings/seed").asLong()).isEqualTo(seed);
        assertThat(json.at("/cases/0/executors").asInt()).isEqualTo(EXECUTORS);
        assertThat(json.at("/cases/1/executors").asInt()).isEqualTo(EXECUTORS / 2);
        assertThat(json.at("/cases/0/driver/sentMessages").asLong())
                .isEqualTo(join.driver().sentMessages());
    }

    @Test
    void clusterOfOneNeedsNoTree() {
        for (MembershipFigures each :
                new MembershipSimulation(1, 1, name -> {}).run().figures()) {
            assertThat(each.snapshots().fromPeers()).isZero();
            assertThat(each.seconds()).isLessThan(1);
        }
    }

    @Test
    void messagesTakeTheirTimeAtBothEndsAndOnTheWay() {
        VirtualTime time = new VirtualTime();
        Endpoint one = new Endpoint(time);
        Endpoint other = new Endpoint(time);
        long each = Endpoint.PROCESSING_NANOS + 1_000;
        assertThat(one.send(other, 1_250)).isEqualTo(2 * each + Endpoint.LATENCY_NANOS);
        assertThat(one.send(other, 1_250)).isEqualTo(3 * each + Endpoint.LATENCY_NANOS);
        assertThat(one.totals()).isEqualTo(new Endpoint.Totals(2, 2_500, 0, 0));
        assertThat(other.totals().since(new Endpoint.Totals(0, 0, 1, 1_250)))
                .isEqualTo(new Endpoint.Totals(0, 0, 1, 1_250));

        List<String> ran = new ArrayList<>();
        time.after(5, () -> ran.add("second"));
        time.at(2, () -> time.at(1, () -> ran.add("late")));
        time.after(9, () -> ran.add("never"));
        time.runUntil(8);
        assertThat(ran).containsExactly("late", "second");
        assertThat(time.now()).isEqualTo(8);
    }
}
