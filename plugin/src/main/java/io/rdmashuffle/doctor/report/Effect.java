// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.report;

import java.util.Locale;

/** Effect of a finding on an application, in ascending order; it determines status and exit code. */
public enum Effect {
    /** Nothing is wrong. */
    NONE("ok", 0),
    /** RDMA is used, or the pool is, and there is less of it, or it is slower, than could be. */
    LESS("warn", 1),
    /** The application runs, and RDMA is not used. */
    NO_RDMA("warn", 1),
    /** The application runs with Spark's own sort shuffle: no pool, no RDMA. */
    SORT_SHUFFLE("warn", 1),
    /** The application, or an executor on this host, does not start. */
    NO_START("fail", 2);

    private final String status;
    private final int exitCode;

    Effect(String status, int exitCode) {
        this.status = status;
        this.exitCode = exitCode;
    }

    /** Returns {@code ok}, {@code warn} or {@code fail}. */
    public String status() {
        return status;
    }

    /** Returns the exit code of a doctor whose worst finding has this effect. */
    public int exitCode() {
        return exitCode;
    }

    /** Returns the name as JSON has it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
