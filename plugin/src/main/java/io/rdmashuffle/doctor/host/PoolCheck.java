// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.Hugepages;
import io.rdmashuffle.conf.OnShortage;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.memory.host.TmpfsHugepages;
import io.rdmashuffle.text.Quantities;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Check whether this host can hold the pools of its executors: directory, container, huge pages.
 *
 * <p><b>Threading:</b> of one thread.
 */
final class PoolCheck {
    private static final String DIRECTORY = "pool-directory";
    private static final String CONTAINER = "container-memory";
    private static final String DIRECTORY_KEY = "spark.shuffle.rdma.pool.directory";
    private static final String HUGEPAGES_KEY = "spark.shuffle.rdma.pool.hugepages";
    private static final String SIZE_KEY = "spark.shuffle.rdma.pool.maxSize";
    private static final long MEBIBYTE = 1 << 20;
    /** As Spark has it, where neither overhead nor its factor are set. */
    private static final String OVERHEAD_FACTOR = "0.1";

    private static final long LEAST_OVERHEAD = 384 * MEBIBYTE;
    private static final Pattern HUGE =
            Pattern.compile("(?m)^(HugePages_Total|HugePages_Free|Hugepagesize):\\s+(\\d+)");

    private final Host host;
    private final Settings settings;
    private final long cap;
    private final boolean mayShrink;

    private PoolCheck(Host host, Settings settings) {
        this.host = host;
        this.settings = settings;
        this.cap = settings.config().get(ShuffleConfig.POOL_MAX_SIZE);
        this.mayShrink = settings.config().get(ShuffleConfig.POOL_ON_SHORTAGE) == OnShortage.SHRINK;
    }

    static List<Finding> run(Host host, Settings settings) {
        PoolCheck check = new PoolCheck(host, settings);
        List<Finding> findings = new ArrayList<>();
        findings.add(check.directory());
        try {
            findings.addAll(check.container());
        } catch (IllegalArgumentException e) {
            findings.add(Finding.wrong(
                    CONTAINER,
                    Effect.NO_START,
                    String.valueOf(e.getMessage()),
                    "correct the key in " + settings.origin()));
        }
        findings.add(check.hugePages());
        return findings;
    }

    private Finding directory() {
        String directory = settings.config().get(ShuffleConfig.POOL_DIRECTORY);
        Place place = host.places().at(Path.of(directory));
        if (!place.exists() || !place.problem().isEmpty()) {
            return Finding.wrong(
                            DIRECTORY,
                            mayShrink ? Effect.NO_RDMA : Effect.NO_START,
                            "no file can be created in " + directory + " (" + place.problem()
                                    + "): the pool would be empty",
                            "let user " + host.property("user.name") + " create files there (chmod 1777 " + directory
                                    + ", mount it read-write), or name an existing tmpfs in " + DIRECTORY_KEY)
                    .with("directory", directory);
        }
        long needed = cap * settings.executors();
        String message = Quantities.mebibytes(place.freeBytes()) + " are free in " + directory + " (" + place.type()
                + "); " + settings.executors() + " executor(s) need up to " + Quantities.mebibytes(needed) + ended();
        return sized(directory, place, needed, message)
                .with("directory", directory)
                .with("type", place.type())
                .with("freeBytes", place.freeBytes())
                .with("neededBytes", needed);
    }

    private String ended() {
        return settings.spark().keepsOutputs(settings.config())
                ? ", ended ones " + Quantities.mebibytes(settings.config().get(ShuffleConfig.OUTLIVE_MAX_BYTES))
                        + " more (" + ShuffleConfig.OUTLIVE_MAX_BYTES.key() + ")"
                : "";
    }

    private Finding sized(String directory, Place place, long needed, String message) {
        if (place.freeBytes() < needed) {
            return Finding.wrong(
                    DIRECTORY,
                    mayShrink ? Effect.LESS : Effect.NO_START,
                    message + (mayShrink ? "; output that does not fit goes to disk" : "; pool.onShortage=fail"),
                    "enlarge it (mount -o remount,size=SIZE " + directory + "; docker: --shm-size; Kubernetes: an"
                            + " emptyDir of medium Memory there), name another tmpfs in " + DIRECTORY_KEY
                            + ", or set " + SIZE_KEY + " to at most "
                            + place.freeBytes() / settings.executors() / MEBIBYTE + "m");
        }
        if (!place.type().equals("tmpfs") && !place.type().equals("hugetlbfs")) {
            return Finding.wrong(
                    DIRECTORY,
                    Effect.LESS,
                    message + "; it is no tmpfs: the system writes the pool to disk",
                    "name a tmpfs in " + DIRECTORY_KEY + ", such as /dev/shm");
        }
        if (place.exposed()) {
            return Finding.wrong(
                    DIRECTORY,
                    Effect.LESS,
                    message + "; other users may write to it and it has no sticky bit: they can remove pools",
                    "chmod +t " + directory);
        }
        return Finding.ok(DIRECTORY, message);
    }

    private List<Finding> container() {
        OptionalLong limit = HostLimits.containerBytes(host.files().root());
        long heap = settings.spark().bytes("spark.executor.memory", "1g", true);
        long offHeap = settings.spark().isTrue("spark.memory.offHeap.enabled", false)
                ? settings.spark().bytes("spark.memory.offHeap.size", "0", false)
                : 0;
        long others = offHeap + settings.spark().bytes("spark.executor.pyspark.memory", "0", true);
        List<Finding> findings = new ArrayList<>();
        if (limit.isEmpty()) {
            findings.add(Finding.ok(CONTAINER, "no memory limit of a control group holds here"));
        } else {
            String message = "the control group's limit is " + Quantities.mebibytes(limit.getAsLong())
                    + "; heap (" + Quantities.mebibytes(heap) + "), pool (" + Quantities.mebibytes(cap)
                    + "), off-heap and Python memory (" + Quantities.mebibytes(others) + ") of an executor take "
                    + Quantities.mebibytes(heap + cap + others);
            Finding finding = heap + cap + others <= limit.getAsLong()
                    ? Finding.ok(CONTAINER, message)
                    : Finding.wrong(
                            CONTAINER,
                            mayShrink ? Effect.LESS : Effect.NO_START,
                            message,
                            "raise spark.executor.memoryOverhead by " + cap / MEBIBYTE + "m, or the limit, or lower "
                                    + SIZE_KEY + " or spark.executor.memory");
            findings.add(finding.with("limitBytes", limit.getAsLong()).with("neededBytes", heap + cap + others));
        }
        overhead(heap, findings);
        return findings;
    }

    /** YARN and Kubernetes make the container of an executor by Spark's settings. */
    private void overhead(long heap, List<Finding> findings) {
        String master = settings.spark().text("spark.master", "");
        if (!master.startsWith("yarn") && !master.startsWith("k8s:")) {
            return;
        }
        long least = settings.spark().bytes("spark.executor.minMemoryOverhead", LEAST_OVERHEAD / MEBIBYTE + "m", true);
        String byDefault = Math.max(least, (long) (heap * overheadFactor())) / MEBIBYTE + "m";
        long overhead = settings.spark().bytes("spark.executor.memoryOverhead", byDefault, true);
        if (overhead < cap) {
            findings.add(Finding.wrong(
                    CONTAINER,
                    mayShrink ? Effect.LESS : Effect.NO_START,
                    "spark.executor.memoryOverhead is " + Quantities.mebibytes(overhead) + ", and the pool of "
                            + Quantities.mebibytes(cap) + " lies in it",
                    "set spark.executor.memoryOverhead to " + (cap + LEAST_OVERHEAD) / MEBIBYTE + "m"));
        }
    }

    private double overheadFactor() {
        String key = "spark.executor.memoryOverheadFactor";
        String text = settings.spark().text(key, OVERHEAD_FACTOR);
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(key + "=" + text + ": not a number", e);
        }
    }

    private Finding hugePages() {
        String directory = settings.config().get(ShuffleConfig.POOL_DIRECTORY);
        TmpfsHugepages huge = TmpfsHugepages.of(host.files().root(), Path.of(directory));
        String message = "transparent huge pages for the pool: " + (huge.given() ? "yes" : "no") + " (" + huge.state()
                + "); reserved huge pages: " + reserved();
        boolean asked = settings.config().get(ShuffleConfig.POOL_HUGEPAGES) == Hugepages.ADVISE;
        return Finding.ok("huge-pages", asked || !huge.given() ? message : message + "; " + HUGEPAGES_KEY + " is off");
    }

    private String reserved() {
        List<String> numbers = new ArrayList<>();
        Matcher matcher = HUGE.matcher(host.files().read("proc/meminfo"));
        while (matcher.find()) {
            numbers.add(matcher.group(1) + " " + matcher.group(2));
        }
        return numbers.isEmpty() ? "unknown" : String.join(", ", numbers) + " KiB";
    }
}
