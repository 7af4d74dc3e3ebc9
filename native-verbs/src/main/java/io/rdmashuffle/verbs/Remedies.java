// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.Errno;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Remedies for failed calls. <b>Threading:</b> stateless. */
final class Remedies {
    private static final Path LIMITS = Path.of("/proc/self/limits");

    private Remedies() {}

    /**
     * Returns the remedy for a call that failed, empty if none is known.
     *
     * @param call function with arguments, as messages show it
     */
    static String forCall(String call, int errno) {
        if (Errno.EPERM.is(errno) || Errno.EACCES.is(errno)) {
            return "allow this user to open /dev/infiniband/uverbs* and rdma_cm";
        }
        if (call.startsWith("ibv_reg_mr") && Errno.ENOMEM.is(errno)) {
            return "raise RLIMIT_MEMLOCK (ulimit -l, now " + lockedMemoryLimit() + ")";
        }
        if (call.startsWith("rdma_create_event_channel") || call.startsWith("ibv_get_device_list")) {
            return "load the kernel modules ib_uverbs and rdma_ucm";
        }
        if (call.startsWith("rdma_bind_addr") || call.startsWith("rdma_resolve_addr")) {
            return "use an address of an RDMA device's own port (rdma link; ip addr)";
        }
        if (call.startsWith("ibv_create_") && (Errno.ENOMEM.is(errno) || Errno.EINVAL.is(errno))) {
            return "ask for shorter queues, or close some; the device's limits are in ibv_devinfo -v";
        }
        return "";
    }

    /** Returns the soft limit of /proc/self/limits, for messages. */
    private static String lockedMemoryLimit() {
        try {
            List<String> lines = Files.readAllLines(LIMITS);
            for (String line : lines) {
                if (line.startsWith("Max locked memory")) {
                    String value = line.substring("Max locked memory".length()).strip();
                    return value.substring(0, value.indexOf(' ')) + " bytes";
                }
            }
            return "unknown";
        } catch (IOException e) {
            return "unknown: " + e.getMessage();
        }
    }
}
