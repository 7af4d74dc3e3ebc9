// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

/** Fabrics that an executor may use. */
public enum FabricMode {
    /** For each peer the best path that reaches it. */
    AUTO,
    /** Shared memory between executors of one host, Spark's block transfer beyond. */
    SHM,
    /** RDMA wherever it reaches, also between executors of one host, Spark's block transfer beyond. */
    VERBS,
    /** One-sided reads over TCP, also between executors of one host, Spark's block transfer beyond. */
    TCP,
    /** RDMA through libfabric, also between executors of one host, Spark's block transfer beyond. */
    OFI,
    /** No one-sided path: Spark's block transfer serves the blocks of the pool. */
    NETTY,
    /** No pool at all: the manager behaves as Spark's sort shuffle. */
    SORT
}
