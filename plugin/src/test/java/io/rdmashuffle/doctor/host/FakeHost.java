// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.doctor.report.HostReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A host with which nothing is wrong until a test changes something; it has a root of its own. */
final class FakeHost {
    private static final String LIMITS = """
            Limit                     Soft Limit           Hard Limit           Units
            Max locked memory         %s            unlimited            bytes
            """;

    final FakeRdma rdma = new FakeRdma();
    final Map<String, String> properties = new HashMap<>(Map.of(
            "os.name", "Linux",
            "os.arch", "amd64",
            "os.version", "6.1",
            "java.version", "17.0.19",
            "java.vendor", "Debian",
            "java.io.tmpdir", "/tmp",
            "user.name", "spark"));
    final Map<String, String> environment = new HashMap<>();
    final Map<String, Place> places = new HashMap<>(Map.of(
            "/dev/shm",
            new Place(true, "", "tmpfs", 64L << 30, false),
            "/tmp",
            new Place(true, "", "ext4", 100L << 30, false)));
    final Map<String, String> settings = new HashMap<>(
            Map.of(SparkSettings.MANAGER_KEY, SparkSettings.MANAGER, "spark.master", "spark://host:7077"));
    Optional<String> reasonAgainstNative = Optional.empty();
    int executors = 1;
    List<String> peers = List.of();
    private final Path root;

    FakeHost(Path root) {
        this.root = root;
        lockedMemory("unlimited");
        capabilities("0000000000000000");
        file("sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never deny force");
        file("proc/meminfo", "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n");
    }

    void lockedMemory(String limit) {
        file("proc/self/limits", LIMITS.formatted(limit));
    }

    void capabilities(String effective) {
        file("proc/self/status", "Name:\tjava\nCapEff:\t" + effective + "\n");
    }

    /** Has this host one mount. */
    void mount(String point, String type, String options) {
        file("proc/self/mountinfo", "31 23 0:28 / " + point + " rw - " + type + " none " + options + "\n");
    }

    void memoryLimit(long bytes) {
        mount("/sys/fs/cgroup", "cgroup2", "rw");
        file("proc/self/cgroup", "0::/\n");
        file("sys/fs/cgroup/memory.max", bytes + "\n");
    }

    void file(String path, String content) {
        try {
            Path file = root.resolve(path);
            Files.createDirectories(file.getParent());
            Files.writeString(file, content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Examines this host with these settings. */
    HostReport examine() {
        Host host = new Host(
                "host1",
                properties,
                environment,
                new HostFiles(root),
                directory -> places.getOrDefault(
                        directory.toString(),
                        new Place(directory.equals(directory.getRoot()), "it does not exist", "", 0, false)),
                () -> reasonAgainstNative,
                rdma);
        Settings read = Settings.of(settings.isEmpty() ? "" : "spark-defaults.conf", settings, executors)
                .withPeers(peers);
        return new HostDoctor(host, "0.1.0").examine(read);
    }

    /** Returns the worst finding of a check. */
    Finding worst(String check) {
        return examine().findings().stream()
                .filter(finding -> finding.check().equals(check))
                .reduce((one, other) -> one.effect().compareTo(other.effect()) >= 0 ? one : other)
                .orElseThrow(() -> new AssertionError("no finding of " + check));
    }
}
