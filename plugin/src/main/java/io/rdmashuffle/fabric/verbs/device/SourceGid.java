// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.QueuePair;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs once per port, for its first connection, the GID of its packets. rdma_cm chooses it by address and the port's
 * default RoCE mode, so that neither address nor settings determine RoCE v1 or v2.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Source:</b> cma_roce_mode(8); {@code default_roce_mode} of
 * Documentation/ABI/testing/configfs-rdma_cm.
 */
final class SourceGid {
    private static final Logger LOG = LoggerFactory.getLogger(SourceGid.class);

    private final LocalPort port;
    private boolean told;

    SourceGid(LocalPort port) {
        this.port = port;
    }

    /** Examines a queue pair that has just become ready to receive, if it is the first. */
    void of(QueuePair pair, Context context) {
        if (told || !port.attributes().ethernet()) {
            return;
        }
        told = true;
        try {
            int index = pair.gidIndex();
            GidEntry gid = context.gids().stream()
                    .filter(entry -> entry.port() == port.port() && entry.index() == index)
                    .findFirst()
                    .orElse(null);
            String warning = warning(port, index, gid);
            if (warning != null) {
                LOG.warn("{}: {}", port, warning);
            } else {
                LOG.info("{}: sends with GID {}, {}", port, index, gid == null ? "not in its table" : gid.type());
            }
        } catch (NativeException e) {
            LOG.debug("{}: cannot tell which GID it sends with", port, e);
        }
    }

    /** Returns the problem with a GID; null if there is none. */
    static @Nullable String warning(LocalPort port, int index, @Nullable GidEntry gid) {
        String mode = "cma_roce_mode -d " + port.device() + " -p " + port.port();
        if (port.askedGidIndex() != PortSelector.ANY && port.askedGidIndex() != index) {
            return "sends with GID " + index + (gid == null ? "" : ", " + gid.type()) + ", and not with "
                    + port.askedGidIndex() + " of spark.shuffle.rdma.fabric.verbs.devices, which has the same address:"
                    + " rdma_cm chooses between RoCE v1 and v2; " + mode + " shows how, -m sets it";
        }
        if (gid != null && gid.type() == GidEntry.Type.ROCE_V1) {
            return "speaks RoCE v1, which no router forwards; " + mode + " -m 2 sets v2";
        }
        return null;
    }
}
