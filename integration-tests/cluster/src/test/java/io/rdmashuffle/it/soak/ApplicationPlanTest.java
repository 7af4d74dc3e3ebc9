// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ApplicationPlanTest {
    private static final Path POOLS = Path.of("/dev/shm/x");
    private static final Set<Fault> ALL = EnumSet.allOf(Fault.class);

    private static ApplicationPlan plan(long seed, int number) {
        return ApplicationPlan.random(seed, number, Way.of(number, Map.of()), null, POOLS, ALL);
    }

    @Test
    void seedAndNumberDecideEverything() {
        assertThat(plan(5, 3)).isEqualTo(plan(5, 3));
        assertThat(plan(5, 4).steps()).isNotEqualTo(plan(5, 3).steps());
        assertThat(plan(6, 3).steps()).isNotEqualTo(plan(5, 3).steps());
    }

    @Test
    void aFabricThatIsAskedForIsEveryApplications() {
        for (int number = 0; number < 20; number++) {
            assertThat(ApplicationPlan.random(1, number, Way.IN_PLACE, ShuffleMode.VERBS, POOLS, ALL)
                            .conf())
                    .containsEntry("spark.shuffle.rdma.fabric.mode", "verbs");
        }
    }

    @Test
    void onlyTheFaultsThatAreAskedForHappen() {
        Set<Fault> drawn = EnumSet.noneOf(Fault.class);
        for (int number = 0; number < 20; number++) {
            Set<Fault> faults = EnumSet.of(Fault.KILLED, Fault.DAMAGED);
            for (ApplicationPlan.Step step : ApplicationPlan.random(1, number, Way.DRAWN, null, POOLS, faults)
                    .steps()) {
                assertThat(step.during()).isIn(Fault.KILLED, null);
                Fault between = step.between();
                if (between != null) {
                    drawn.add(between);
                }
            }
        }
        assertThat(drawn).containsExactly(Fault.KILLED, Fault.DAMAGED);
    }

    @Test
    void configurationThatIsAskedForWins() {
        assertThat(plan(1, 1)
                        .with(Map.of("spark.shuffle.rdma.outlive.enabled", "x"))
                        .conf())
                .containsEntry("spark.shuffle.rdma.outlive.enabled", "x")
                .containsKey("spark.shuffle.rdma.pool.maxSize");
    }

    @Test
    void theFirstApplicationRunsOnDefaults() {
        for (long seed = 0; seed < 20; seed++) {
            assertThat(plan(seed, ApplicationPlan.ON_DEFAULTS).conf())
                    .containsEntry("spark.shuffle.rdma.fabric.mode", "auto")
                    .doesNotContainKeys(
                            "spark.shuffle.compress",
                            "spark.serializer",
                            "spark.io.encryption.enabled",
                            "spark.shuffle.rdma.direct.compressAbove",
                            "spark.shuffle.rdma.pool.maxSize",
                            "spark.shuffle.rdma.fabric.shm.inPlace")
                    .allSatisfy((key, value) -> assertThat(key).doesNotStartWith("spark.sql."));
        }
        assertThat(plan(1, 1).conf()).containsKey("spark.shuffle.rdma.pool.maxSize");
    }

    @Test
    void everyKindOfJobAndFaultAndSettingComesUp() {
        Set<JobSpec.Kind> kinds = EnumSet.noneOf(JobSpec.Kind.class);
        Set<Fault> faults = EnumSet.noneOf(Fault.class);
        Set<String> settings = new TreeSet<>();
        for (int number = 0; number < 100; number++) {
            ApplicationPlan plan = plan(1, number);
            plan.conf().forEach((key, value) -> settings.add(key + "=" + value));
            for (ApplicationPlan.Step step : plan.steps()) {
                kinds.add(step.job().kind());
                Fault during = step.during();
                Fault between = step.between();
                if (during != null) {
                    assertThat(during).isNotIn(Fault.DAMAGED, Fault.UNLINKED, Fault.DECOMMISSIONED);
                    faults.add(during);
                }
                if (between != null) {
                    faults.add(between);
                }
            }
        }
        assertThat(kinds).containsExactlyInAnyOrder(JobSpec.Kind.values());
        assertThat(faults).containsExactlyInAnyOrder(Fault.values());
        assertThat(settings)
                .contains(
                        "spark.io.encryption.enabled=true",
                        "spark.shuffle.rdma.pool.maxSize=1m",
                        "spark.shuffle.rdma.fabric.mode=netty",
                        "spark.dynamicAllocation.enabled=true",
                        "spark.sql.adaptive.enabled=false");
    }

    @Test
    void jobsStayWithinWhatAnExecutorCanHold() {
        Random random = new Random(2);
        for (int i = 0; i < 2_000; i++) {
            JobSpec job = JobSpec.random(random, i % 2 == 0);
            assertThat((long) job.rows() * job.payloadBytes()).isLessThanOrEqualTo(24L << 20);
            assertThat(job.maps()).isPositive();
            assertThat(job.partitions()).isPositive();
        }
    }

    @Test
    void everyWaySettlesWhatItNeeds() {
        for (long seed = 0; seed < 20; seed++) {
            assertThat(ApplicationPlan.random(seed, 1, Way.COPIED, null, POOLS, ALL)
                            .conf())
                    .containsEntry("spark.shuffle.rdma.fabric.shm.inPlace", "false")
                    .containsEntry("spark.shuffle.rdma.pool.maxSize", "256m")
                    .doesNotContainKey("spark.shuffle.compress");
            assertThat(ApplicationPlan.random(seed, 1, Way.ON_DISK, null, POOLS, ALL)
                            .conf())
                    .containsEntry("spark.shuffle.rdma.disk.enabled", "true")
                    .containsEntry("spark.shuffle.rdma.fabric.shm.inPlace", "false")
                    .containsEntry("spark.shuffle.rdma.pool.maxSize", "1m")
                    .doesNotContainKey("spark.shuffle.compress");
            assertThat(ApplicationPlan.random(seed, 1, Way.IN_PLACE, null, POOLS, ALL)
                            .conf())
                    .containsEntry("spark.shuffle.rdma.fabric.shm.inPlace", "true")
                    .containsEntry("spark.shuffle.rdma.pool.maxSize", "256m");
        }
    }
}
