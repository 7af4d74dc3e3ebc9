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

    private static ApplicationPlan plan(long seed, int number) {
        return ApplicationPlan.random(seed, number, null, POOLS);
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
            assertThat(ApplicationPlan.random(1, number, ShuffleMode.VERBS, POOLS)
                            .conf())
                    .containsEntry("spark.shuffle.rdma.fabric.mode", "verbs");
        }
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
    void aReportWithoutJobsOrFaultsOrPoolBytesIsNotGreen() {
        SoakReport report = new SoakReport();
        assertThat(report.acceptable(false)).isFalse();
        report.compared();
        report.applicationEnded(Map.of(Fault.KILLED, 1));
        assertThat(report.acceptable(false)).isFalse();
        report.moved(Map.of("shm", 5L));
        assertThat(report.acceptable(false)).isTrue();
        report.difference("something");
        assertThat(report.acceptable(false)).isFalse();
        assertThat(report.toString()).contains("DIFFERENT something").contains("1 differences");
    }

    @Test
    void aReportInWhichAWayIsMissingIsNotGreen() {
        SoakReport report = new SoakReport();
        report.compared();
        report.applicationEnded(Map.of(Fault.KILLED, 1));
        report.moved(Map.of("shm", 60L, "local", 40L, "direct", 80L, "slab", 40L));
        report.moved(Map.of("diskRead", 9L));
        assertThat(report.acceptable(true)).as("chance decides shares of one").isTrue();
        for (int i = 0; i < 9; i++) {
            report.applicationEnded(Map.of());
        }
        assertThat(report.acceptable(true)).isFalse();
        report.moved(Map.of("diskRead", 1L));
        assertThat(report.acceptable(true)).isTrue();
        assertThat(report.toString()).contains("direct in place 30 %, copied 40 %, from the disk tier 10 %");
    }

    @Test
    void everyWayHasApplicationsAndSoonSo() {
        assertThat(plan(3, 1).conf())
                .containsEntry("spark.shuffle.rdma.fabric.shm.inPlace", "false")
                .containsEntry("spark.shuffle.rdma.pool.maxSize", "256m")
                .doesNotContainKey("spark.shuffle.compress");
        assertThat(plan(3, 2).conf())
                .containsEntry("spark.shuffle.rdma.disk.enabled", "true")
                .containsEntry("spark.shuffle.rdma.pool.maxSize", "1m")
                .doesNotContainKey("spark.shuffle.compress");
    }
}
