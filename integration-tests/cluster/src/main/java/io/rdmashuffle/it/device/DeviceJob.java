// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.device;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** The jobs that {@link DeviceJobs} knows, by the names that users see. */
enum DeviceJob {
    /** Whole rows through a repartition, then counted by group. */
    GROUP_BY("groupBy"),
    /** Rows of 100 bytes ordered by a random key, with a checksum of the order. */
    TERA_SORT("teraSort"),
    /** TPC-DS query 3: two joins, one aggregation, an order. */
    Q3("q3"),
    /** TPC-DS query 7: four joins with averages. */
    Q7("q7"),
    /** A shuffle that is read, and read again after an executor with outputs of it was killed. */
    HEIR("heir");

    private final String label;

    DeviceJob(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    static DeviceJob of(String label) {
        return Arrays.stream(values())
                .filter(job -> job.label.equalsIgnoreCase(label.strip()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("'" + label + "' is none of " + labels()));
    }

    static List<String> labels() {
        return Arrays.stream(values()).map(DeviceJob::label).collect(Collectors.toList());
    }
}
