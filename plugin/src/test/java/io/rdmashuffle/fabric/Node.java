// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;

/** One process as a fabric sees it: a pool whose regions the fabric knows. */
public final class Node implements AutoCloseable {
    /** Length of a region: small, so that tests cross regions cheaply. */
    public static final long REGION_BYTES = 128 << 10;

    public static final long CAP_BYTES = 8 * REGION_BYTES;

    private final Fabric fabric;
    private final Pool pool;

    public Node(Path directory, Fabric fabric) {
        this.fabric = fabric;
        this.pool = TestPools.create(directory, CAP_BYTES, REGION_BYTES, fabric);
    }

    public Fabric fabric() {
        return fabric;
    }

    public Pool pool() {
        return pool;
    }

    /** Connects this node to another; the caller closes the peer. */
    public Peer connect(Node other) throws PeerUnreachableException {
        return fabric.connect("peer", other.fabric.localAddress());
    }

    @Override
    public void close() {
        fabric.close();
        pool.close();
    }
}
