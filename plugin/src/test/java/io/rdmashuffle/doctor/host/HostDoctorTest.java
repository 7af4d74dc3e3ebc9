// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.doctor.report.HostReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of settings and checks without RDMA: each finding with its effect and remedy. */
@Tag("unit")
@Timeout(60)
class HostDoctorTest {
    @TempDir
    Path root;

    private FakeHost host;

    @BeforeEach
    void healthy() {
        host = new FakeHost(root);
    }

    private void assertFound(String check, Effect effect, String seen, String... remedy) {
        Finding finding = host.worst(check);
        assertThat(finding.effect()).as(finding.message()).isEqualTo(effect);
        assertThat(finding.message()).contains(seen);
        assertThat(finding.remedy()).contains(remedy);
        assertThat(host.examine().exitCode()).isEqualTo(effect.exitCode());
    }

    @Test
    void nothingIsWrongWithAHealthyHost() {
        HostReport report = host.examine();
        assertThat(report.findings())
                .allSatisfy(finding ->
                        assertThat(finding.effect()).as(finding.toString()).isEqualTo(Effect.NONE));
        assertThat(report.exitCode()).isZero();
        assertThat(report.rdma()).isTrue();
        assertThat(report.findings().stream().map(Finding::check).distinct())
                .containsExactly(
                        "system",
                        "native-code",
                        "configuration",
                        "spark-settings",
                        "pool-directory",
                        "container-memory",
                        "huge-pages",
                        "disk-tier",
                        "libraries",
                        "devices",
                        "ports",
                        "gid",
                        "locked-memory",
                        "loopback-read");
    }

    @Test
    void otherSystemsAndProcessorsHaveSortShuffle() {
        host.properties.put("os.arch", "riscv64");
        assertFound("system", Effect.SORT_SHUFFLE, "riscv64", "x86-64 or aarch64");
    }

    @Test
    void nativeCodeThatIsDeniedNamesTheTemporaryDirectory() {
        host.reasonAgainstNative = Optional.of("native code cannot be called (failed to map segment)");
        assertFound("native-code", Effect.SORT_SHUFFLE, "failed to map", "noexec", "/tmp", "--enable-native-access");
        assertThat(host.examine().findings())
                .noneMatch(finding -> finding.check().equals("libraries"));
    }

    @Test
    void withoutSettingsDefaultsAreLookedAt() {
        host.settings.clear();
        assertThat(host.worst("configuration").message()).contains("--conf-file");
        assertThat(host.examine().exitCode()).isZero();
    }

    @Test
    void unusableSettingsAreNamedAndTheOthersApply() {
        host.settings.put("spark.shuffle.rdma.pool.maxsize", "1g");
        host.settings.put("spark.shuffle.rdma.fabric.verbs.retryCount", "8");
        host.settings.put("spark.shuffle.rdma.pool.onShortage", "fail");
        host.settings.put("spark.shuffle.rdma.pool.maxSize", "65g");
        HostReport report = host.examine();
        List<String> problems = report.findings().stream()
                .filter(finding -> finding.check().equals("configuration"))
                .map(Finding::message)
                .toList();
        assertThat(problems).hasSize(2);
        assertThat(String.join("\n", problems))
                .contains("pool.maxsize: no such key; the nearest is spark.shuffle.rdma.pool.maxSize")
                .contains("retryCount=8");
        assertFound("configuration", Effect.NO_START, "", "spark-defaults.conf", "docs/configuration.md");
        assertThat(host.worst("pool-directory").message()).as("its value").contains("66560.0 MiB");
    }

    @Test
    void contradictionsAreNamed() {
        host.settings.put("spark.shuffle.rdma.pool.initialSize", "2g");
        assertFound("configuration", Effect.NO_START, "must not be above", "correct or remove");
    }

    @Test
    void theManagerMustBeNamed() {
        host.settings.remove("spark.shuffle.manager");
        assertFound(
                "spark-settings",
                Effect.SORT_SHUFFLE,
                "is not set",
                "spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager");
        host.settings.put("spark.shuffle.manager", "sort");
        assertFound("spark-settings", Effect.SORT_SHUFFLE, "=sort", "RdmaShuffleManager");
        host.settings.put("spark.shuffle.manager", "io.rdmashuffle.RdmaShuffleManager");
        assertFound("spark-settings", Effect.NO_START, "no such class", "io.rdmashuffle.spark.RdmaShuffleManager");
    }

    @Test
    void keysOfSparkThatRuleOutThePoolOrRdmaAreNamed() {
        host.settings.put("spark.shuffle.service.enabled", "true");
        assertFound("spark-settings", Effect.SORT_SHUFFLE, "spark.shuffle.service.enabled", "outlive.enabled=true");
        host.settings.put("spark.shuffle.rdma.outlive.enabled", "true");
        assertThat(host.worst("spark-settings").effect()).isEqualTo(Effect.NONE);
        host.settings.remove("spark.shuffle.rdma.outlive.enabled");
        host.settings.remove("spark.shuffle.service.enabled");
        host.settings.put("spark.network.crypto.enabled", "true");
        assertFound("spark-settings", Effect.NO_RDMA, "encrypts", "spark.io.encryption.enabled=true");
        host.settings.remove("spark.network.crypto.enabled");
        host.settings.put("spark.dynamicAllocation.enabled", "true");
        host.settings.put("spark.dynamicAllocation.shuffleTracking.enabled", "false");
        assertFound("spark-settings", Effect.NO_START, "dynamicAllocation", "shuffleTracking.enabled=true");
    }

    @Test
    void modesThatRuleOutRdmaAreNamed() {
        host.settings.put("spark.shuffle.rdma.fabric.mode", "shm");
        assertFound("configuration", Effect.NO_RDMA, "fabric.mode=shm", "auto");
        host.settings.put("spark.shuffle.rdma.fabric.mode", "sort");
        assertFound("configuration", Effect.SORT_SHUFFLE, "fabric.mode=sort", "auto");
    }

    @Test
    void aPoolDirectoryThatIsTooSmallNamesTheSizeThatFits() {
        host.places.put("/dev/shm", new Place(true, "", "tmpfs", 64 << 20, false));
        assertFound("pool-directory", Effect.LESS, "64.0 MiB are free", "--shm-size", "pool.maxSize to at most 64m");
        host.settings.put("spark.shuffle.rdma.pool.onShortage", "fail");
        assertFound("pool-directory", Effect.NO_START, "onShortage=fail", "remount,size=");
    }

    @Test
    void everyExecutorOfTheHostHasAPool() {
        host.executors = 8;
        host.places.put("/dev/shm", new Place(true, "", "tmpfs", 4L << 30, false));
        assertFound("pool-directory", Effect.LESS, "8 executor(s) need up to 8192.0 MiB", "to at most 512m");
        assertThat(host.worst("pool-directory").message()).contains("ended ones 4096.0 MiB more");
        host.settings.put("spark.shuffle.rdma.outlive.enabled", "false");
        assertThat(host.worst("pool-directory").message()).doesNotContain("ended");
    }

    @Test
    void aPoolDirectoryWithoutPermissionIsNamed() {
        host.places.put("/dev/shm", new Place(true, "AccessDeniedException: /dev/shm/x", "tmpfs", 64L << 30, false));
        assertFound("pool-directory", Effect.NO_RDMA, "AccessDenied", "user spark", "chmod 1777 /dev/shm");
        host.settings.put("spark.shuffle.rdma.pool.onShortage", "fail");
        assertFound("pool-directory", Effect.NO_START, "AccessDenied", "chmod");
    }

    @Test
    void aPoolDirectoryThatIsMissingOrNoTmpfsIsNamed() {
        host.settings.put("spark.shuffle.rdma.pool.directory", "/mnt/pool");
        assertFound("pool-directory", Effect.NO_RDMA, "does not exist", "spark.shuffle.rdma.pool.directory");
        host.places.put("/mnt/pool", new Place(true, "", "ext4", 64L << 30, false));
        assertFound("pool-directory", Effect.LESS, "no tmpfs", "/dev/shm");
    }

    @Test
    void warnsOfPoolDirectoryWhoseFilesOthersMayRemove() {
        host.places.put("/dev/shm", new Place(true, "", "tmpfs", 64L << 30, true));
        assertFound("pool-directory", Effect.LESS, "no sticky bit", "chmod +t /dev/shm");
    }

    @Test
    void seesSharedDirectoriesWithoutStickyBit(@TempDir Path directory) throws IOException {
        for (Map.Entry<Integer, Boolean> mode : Map.of(0700, false, 0755, false, 0777, true, 0770, false, 01777, false)
                .entrySet()) {
            Files.setAttribute(directory, "unix:mode", mode.getKey());
            assertThat(Place.look(directory).exposed()).as("%o", mode.getKey()).isEqualTo(mode.getValue());
        }
    }

    @Test
    void aContainerMustHoldHeapPoolAndOthers() {
        host.memoryLimit(4L << 30);
        host.settings.put("spark.executor.memory", "3g");
        assertThat(host.worst("container-memory").effect()).isEqualTo(Effect.NONE);
        host.settings.put("spark.executor.pyspark.memory", "512");
        assertFound("container-memory", Effect.LESS, "4608.0 MiB", "spark.executor.memoryOverhead by 1024m");
        host.settings.put("spark.shuffle.rdma.pool.onShortage", "fail");
        assertFound("container-memory", Effect.NO_START, "4608.0 MiB", "memoryOverhead");
        host.settings.put("spark.executor.memory", "much");
        assertFound("container-memory", Effect.NO_START, "spark.executor.memory=much", "correct the key");
    }

    /** Keys of Spark's metrics have asterisks. */
    @Test
    void keysAreNoPatterns() {
        host.settings.put("*.sink.csv.class", "org.apache.spark.metrics.sink.CsvSink");
        host.settings.put("spark.(odd", "1");
        host.settings.put("spark.shuffle.rdma.pool.maxSize", "much");
        assertFound("configuration", Effect.NO_START, "pool.maxSize=much", "correct or remove");
    }

    @Test
    void containerOverheadIncludesThePool() {
        host.settings.put("spark.master", "k8s://https://api:6443");
        assertFound("container-memory", Effect.LESS, "is 384.0 MiB", "spark.executor.memoryOverhead to 1408m");
        host.settings.put("spark.executor.memoryOverheadFactor", "2");
        assertThat(host.worst("container-memory").effect()).isEqualTo(Effect.NONE);
        host.settings.remove("spark.executor.memoryOverheadFactor");
        host.settings.put("spark.executor.minMemoryOverhead", "1500m");
        assertThat(host.worst("container-memory").effect()).isEqualTo(Effect.NONE);
        host.settings.remove("spark.executor.minMemoryOverhead");
        host.settings.put("spark.executor.memoryOverhead", "1408");
        assertThat(host.worst("container-memory").effect()).isEqualTo(Effect.NONE);
    }

    @Test
    void hugePageOptionOfTheMountIsReported() {
        host.mount("/dev/shm", "tmpfs", "rw,size=1024k");
        assertThat(host.worst("huge-pages").message())
                .contains("for the pool: no", "huge=never", "mount -o remount,huge=advise /dev/shm");
        host.mount("/dev/shm", "tmpfs", "rw,huge=advise");
        assertThat(host.worst("huge-pages").message())
                .contains("for the pool: yes", "huge=advise")
                .doesNotContain("is off");
        host.settings.put("spark.shuffle.rdma.pool.hugepages", "off");
        assertThat(host.worst("huge-pages").message()).contains("spark.shuffle.rdma.pool.hugepages is off");
    }

    @Test
    void theDiskTierNeedsRoomAndPermission() {
        host.settings.put("spark.local.dir", "/data/1/spark,/data/2");
        host.places.put("/data/1", new Place(true, "", "ext4", 100L << 30, false));
        host.places.put("/data/2", new Place(true, "", "ext4", 100 << 20, false));
        assertFound("disk-tier", Effect.LESS, "/data/2", "spark.shuffle.rdma.disk.minFree");
        host.places.put("/data/2", new Place(true, "AccessDeniedException: /data/2/x", "ext4", 100L << 30, false));
        assertFound("disk-tier", Effect.LESS, "AccessDenied", "user spark", "spark.local.dir");
        host.environment.put("LOCAL_DIRS", "/tmp");
        assertThat(host.worst("disk-tier").effect())
                .as("YARN's go before the key")
                .isEqualTo(Effect.NONE);
        host.environment.clear();
        host.settings.put("spark.shuffle.rdma.disk.enabled", "false");
        assertThat(host.worst("disk-tier").effect()).isEqualTo(Effect.NONE);
    }
}
