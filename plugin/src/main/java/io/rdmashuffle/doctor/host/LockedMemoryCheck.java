// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.VerbsConfig;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.text.Quantities;
import java.util.List;
import java.util.OptionalLong;

/**
 * Check whether this process may lock the pool's pages, which RDMA needs per port.
 *
 * <p><b>Threading:</b> stateless.
 */
final class LockedMemoryCheck {
    private static final String CHECK = "locked-memory";
    private static final long MEBIBYTE = 1 << 20;
    private static final long KIBIBYTE = 1 << 10;

    private LockedMemoryCheck() {}

    /** Checks the limit for the used {@code ports}; none if RDMA is not used. */
    static Finding run(Host host, Settings settings, List<DeviceFacts> devices, List<LocalPort> ports) {
        int pinning = (int)
                ports.stream().filter(port -> !pages(settings, devices, port)).count();
        return run(host, settings, !ports.isEmpty(), pinning);
    }

    /**
     * Checks the limit.
     *
     * @param isUsed whether there is a port
     * @param pinning how many times the pool is pinned
     */
    static Finding run(Host host, Settings settings, boolean isUsed, int pinning) {
        boolean capable = HostLimits.mayLockAnything(host.files().read("proc/self/status"));
        OptionalLong limit = HostLimits.memlock(host.files().read("proc/self/limits"));
        long cap = settings.config().get(ShuffleConfig.POOL_MAX_SIZE);
        long needed = HostLimits.pinnedBytes(cap, Math.max(1, pinning));
        String message = "RLIMIT_MEMLOCK of this process is "
                + (limit.isEmpty() ? "unlimited" : limit.getAsLong() / KIBIBYTE + " KiB") + ", CAP_IPC_LOCK is "
                + (capable ? "effective, so that no limit holds" : "not effective") + "; a pool of "
                + Quantities.mebibytes(cap) + ", pinned " + Math.max(1, pinning) + " time(s), and queues need "
                + needed / KIBIBYTE + " KiB";
        boolean enough = capable || limit.isEmpty() || limit.getAsLong() >= needed;
        return finding(message, enough, isUsed, pinning, limit, needed)
                .with("limitBytes", limit.isEmpty() ? -1L : limit.getAsLong())
                .with("neededBytes", needed)
                .with("capIpcLock", capable);
    }

    private static Finding finding(
            String message, boolean enough, boolean isUsed, int pinning, OptionalLong limit, long needed) {
        if (enough) {
            return Finding.ok(CHECK, message);
        }
        if (pinning == 0) {
            return Finding.ok(
                    CHECK,
                    message + ", which is more; nothing is pinned "
                            + (isUsed ? "with on-demand paging" : "without an RDMA port"));
        }
        return Finding.wrong(CHECK, Effect.NO_RDMA, message, remedy(needed, fittingPool(limit, pinning)));
    }

    private static boolean pages(Settings settings, List<DeviceFacts> devices, LocalPort port) {
        return settings.config().get(VerbsConfig.ON_DEMAND_PAGING)
                && devices.stream().anyMatch(device -> device.name().equals(port.device()) && device.onDemandPaging());
    }

    /** Returns the largest pool for the limit in MiB; 0 or less if none fits. */
    private static long fittingPool(OptionalLong limit, int pinning) {
        return (limit.orElse(0) - HostLimits.pinnedBytes(0, pinning)) / pinning / MEBIBYTE;
    }

    private static String remedy(long needed, long fitting) {
        return "raise the limit of the process that executors inherit it from, to unlimited or at least "
                + needed / KIBIBYTE + " KiB (ulimit -l " + needed / KIBIBYTE + "):\n"
                + "LimitMEMLOCK=infinity in the systemd unit of Spark's worker, YARN's NodeManager or containerd, and"
                + " restart it\n"
                + "* - memlock unlimited in /etc/security/limits.conf where a login starts it\n"
                + "--ulimit memlock=-1 for a container of Docker\n"
                + (fitting > 0 ? "or spark.shuffle.rdma.pool.maxSize=" + fitting + "m, " : "")
                + "or, with verbs, spark.shuffle.rdma.fabric.verbs.onDemandPaging=true where the device takes page"
                + " faults";
    }
}
