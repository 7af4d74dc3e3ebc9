// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.ui;

import io.rdmashuffle.conf.ConfigEntry;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.conf.TcpConfig;
import io.rdmashuffle.spark.metrics.ApplicationInfo;
import io.rdmashuffle.spark.metrics.CounterValues;
import io.rdmashuffle.spark.metrics.ExecutorReport;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.text.Quantities;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Advice on settings from an application's counters: each item has the observation and the key to change.
 *
 * <p><b>Threading:</b> stateless.
 */
final class Advice {
    /** A share of bytes over Spark's block transfer, in percent, that is worth a word. */
    private static final long MUCH_PERCENT = 5;

    private final ApplicationInfo info;
    private final List<ExecutorReport> executors;
    private final CounterValues totals;
    private final List<String> findings = new ArrayList<>();

    private Advice(ApplicationInfo info, List<ExecutorReport> executors, CounterValues totals) {
        this.info = info;
        this.executors = executors;
        this.totals = totals;
    }

    /** Returns findings, the most important first. */
    static List<String> of(ApplicationInfo info, List<ExecutorReport> executors, CounterValues totals) {
        Advice advice = new Advice(info, executors, totals);
        advice.aboutSort();
        advice.aboutExecutors();
        advice.aboutPool();
        advice.aboutFiles();
        advice.aboutRdma();
        advice.aboutNetty();
        advice.aboutQuarantine();
        advice.aboutChecksums();
        return advice.findings;
    }

    private long get(ShuffleCounter counter) {
        return totals.get(counter);
    }

    private String key(ConfigEntry<?> entry) {
        return entry.key() + " (now " + info.value(entry.key()) + ")";
    }

    private void aboutSort() {
        if (!info.whySort().isEmpty()) {
            findings.add("Spark's sort shuffle serves this application: " + info.whySort() + ".");
        }
    }

    private void aboutExecutors() {
        long lost = executors.stream()
                .filter(executor -> executor.state() == ExecutorReport.State.LOST
                        && !executor.host().isEmpty())
                .count();
        if (lost > 0) {
            findings.add(
                    lost + " executors were lost: Spark's Executors tab has the reasons, and their logs the causes."
                            + outlive());
        }
        if (executors.isEmpty() && info.whySort().isEmpty()) {
            findings.add(
                    "No executor has reported. If Spark's Executors tab lists dead ones, their logs have the cause;"
                            + " see docs/troubleshooting.md, \"Executors exit at start\".");
        }
    }

    private String outlive() {
        ConfigEntry<Boolean> outlive = ShuffleConfig.OUTLIVE_ENABLED;
        boolean isOff = info.knows(outlive.key()) && info.value(outlive.key()).equals("false");
        return isOff ? " Map outputs can outlive their executor: see " + key(outlive) + "." : "";
    }

    private void aboutPool() {
        long onDisk = get(ShuffleCounter.MAP_OUTPUTS_ON_DISK) + get(ShuffleCounter.MAP_OUTPUTS_DEMOTED);
        long filed = get(ShuffleCounter.MAP_OUTPUTS_FILED);
        long full = get(ShuffleCounter.POOL_FULL);
        if (onDisk + filed == 0 && full == 0) {
            return;
        }
        StringBuilder text = new StringBuilder();
        text.append(full > 0 ? "Pool full " + full + " times" : "Pool nearly full");
        if (onDisk > 0) {
            text.append(", ").append(onDisk).append(" map outputs went to disk");
        }
        if (filed > 0) {
            text.append(", ").append(filed).append(" map outputs became ordinary shuffle files");
        }
        text.append(": ").append(moreRoom());
        long missing = get(ShuffleCounter.DISK_PEAK_BYTES);
        if (missing > 0) {
            text.append("; at most ")
                    .append(Quantities.mebibytes(missing))
                    .append(" lay on disk, of all executors together");
        }
        findings.add(text.append('.').toString());
        if (filed > 0 && onDisk == 0) {
            findings.add("Nothing went to the disk tier: look at " + key(ShuffleConfig.DISK_ENABLED) + " and "
                    + key(ShuffleConfig.DISK_MIN_FREE) + ".");
        }
    }

    private void aboutFiles() {
        long removed = get(ShuffleCounter.POOL_FILES_REMOVED);
        if (removed > 0) {
            findings.add("Another program removed " + removed + " pool files of living executors in "
                    + ShuffleConfig.POOL_DIRECTORY.key()
                    + ", so that their peers read over TCP or Spark's block transfer: the"
                    + " executors' logs say when. At logout of the executors' user logind does that: set RemoveIPC=no"
                    + " in logind.conf, or run executors as a system user.");
        }
    }

    /** Returns the remedy for small pools: a key, unless the host limits them. */
    private String moreRoom() {
        String key = ShuffleConfig.POOL_MAX_SIZE.key();
        long allowed = info.knows(key) ? new SparkSettings(info::value).bytes(key, "0", false) : 0;
        long[] small = executors.stream()
                .mapToLong(executor -> executor.get(ShuffleCounter.POOL_CAP_BYTES))
                .filter(bytes -> bytes > 0 && bytes < allowed - allowed / 16)
                .sorted()
                .toArray();
        return small.length == 0
                ? "raise " + key(ShuffleConfig.POOL_MAX_SIZE)
                : small.length + " executors have pools of " + Quantities.mebibytes(small[0]) + " or more, and not of "
                        + key(ShuffleConfig.POOL_MAX_SIZE) + ", since their hosts or containers allow no more: enlarge "
                        + ShuffleConfig.POOL_DIRECTORY.key() + " (--shm-size, sizeLimit), or the memory limit";
    }

    private void aboutRdma() {
        Set<String> reasons = new TreeSet<>();
        executors.forEach(executor -> reasons.add(executor.whyNotRdma()));
        reasons.remove("");
        if (get(ShuffleCounter.TCP_BYTES) > 0 && get(ShuffleCounter.VERBS_BYTES) == 0) {
            // Nothing is missing: this is the path of networks without RDMA.
            reasons.remove(ExecutorReport.NO_RDMA_DEVICE);
        }
        long hosts = executors.stream()
                .map(ExecutorReport::host)
                .filter(host -> !host.isEmpty())
                .distinct()
                .count();
        if (hosts > 1) {
            reasons.forEach(reason -> findings.add(
                    "RDMA is not used between hosts: " + reason + ". See " + key(ShuffleConfig.FABRIC_MODE) + "."));
        }
    }

    private void aboutNetty() {
        long netty = get(ShuffleCounter.NETTY_BYTES);
        long all = netty
                + get(ShuffleCounter.LOCAL_BYTES)
                + get(ShuffleCounter.SHM_BYTES)
                + get(ShuffleCounter.VERBS_BYTES)
                + get(ShuffleCounter.TCP_BYTES)
                + get(ShuffleCounter.FILE_BYTES);
        if (netty * 100 > all * MUCH_PERCENT) {
            findings.add(100 * netty / all + " % of the bytes came over Spark's block transfer (Netty), which no"
                    + " one-sided path reached: see the paths of the executors below, and "
                    + key(ShuffleConfig.FABRIC_MODE) + ". Where a firewall is between hosts, set and open "
                    + key(TcpConfig.PORT) + ".");
        }
    }

    private void aboutQuarantine() {
        if (get(ShuffleCounter.QUARANTINES) > 0) {
            findings.add("Paths between executors failed " + get(ShuffleCounter.QUARANTINES)
                    + " times and were not used for a while: the executors' logs say why. How long is "
                    + key(ShuffleConfig.PEER_QUARANTINE) + ".");
        }
    }

    private void aboutChecksums() {
        if (get(ShuffleCounter.CHECKSUM_FAILURES) > 0) {
            findings.add("Blocks were read " + get(ShuffleCounter.CHECKSUM_FAILURES)
                    + " times with a wrong checksum, and then in another way. Where none of their shuffles had been"
                    + " removed meanwhile, look at the memory of the hosts that the executors' logs name.");
        }
    }
}
