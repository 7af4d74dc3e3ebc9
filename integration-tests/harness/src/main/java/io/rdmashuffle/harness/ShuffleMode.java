// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** Transport of shuffle bytes; the names are those of {@code spark.shuffle.rdma.fabric.mode}, and Spark's own. */
public enum ShuffleMode {
    /** The best path to each peer: shared memory on the same host, RDMA, TCP, else Netty. */
    AUTO,
    /** Shared memory only. */
    SHM,
    /** RDMA, also between executors of one host. */
    VERBS,
    /** One-sided reads over TCP, also between executors of one host. */
    TCP,
    /** RDMA through libfabric, also between executors of one host. */
    OFI,
    /** The pool, served through Spark's block transfer. */
    NETTY,
    /** Spark's own sort shuffle, without the plugin. */
    SORT;

    /** Returns the configuration that a Spark application needs for this mode. */
    public Map<String, String> conf() {
        Map<String, String> conf = new LinkedHashMap<>();
        if (this == SORT) {
            conf.put("spark.shuffle.manager", "sort");
        } else {
            conf.put("spark.shuffle.manager", "io.rdmashuffle.spark.RdmaShuffleManager");
            conf.put("spark.shuffle.rdma.fabric.mode", toString());
        }
        return conf;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
