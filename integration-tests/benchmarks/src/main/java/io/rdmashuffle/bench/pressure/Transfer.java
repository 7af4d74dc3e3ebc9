// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import java.util.Map;

/** Transport of blocks from another executor. */
enum Transfer {
    /** As on one host: ours reads a peer's memory and files where they lie, and so does sort shuffle with files. */
    IN_PLACE("in-place"),
    /** As between hosts: ours copies out of the peer's memory, sort shuffle asks the peer over Netty. */
    COPYING("copying");

    private final String label;

    Transfer(String label) {
        this.label = label;
    }

    /** Returns the name in options, tables and JSON. */
    String label() {
        return label;
    }

    /** Returns what an application is configured with for it, ours or one of sort shuffle. */
    Map<String, String> conf(boolean ours) {
        if (this == IN_PLACE) {
            return Map.of();
        }
        return ours
                ? Map.of("spark.shuffle.readHostLocalDisk", "false", "spark.shuffle.rdma.fabric.shm.inPlace", "false")
                : Map.of("spark.shuffle.readHostLocalDisk", "false");
    }

    /**
     * Returns the one of that name.
     *
     * @throws IllegalArgumentException if there is none
     */
    static Transfer parse(String written) {
        for (Transfer each : values()) {
            if (each.label.equals(written.strip())) {
                return each;
            }
        }
        throw new IllegalArgumentException("--transfer " + written + ": valid are in-place, copying");
    }
}
