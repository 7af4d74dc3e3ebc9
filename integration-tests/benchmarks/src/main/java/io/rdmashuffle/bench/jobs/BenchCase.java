// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.BenchJob.Kind;

/**
 * A line of the table: a kind of job at one size.
 *
 * @param name as users select it
 * @param rowShare rows of this case for each row that {@code --rows} asks for: 1 KB rows are a tenth, so that bytes
 *     are alike
 */
public record BenchCase(String name, Kind kind, int partitions, int payloadBytes, double rowShare) {
    /** Rows of the floor that is scheduling alone. */
    static final long FEW_ROWS = 2_000;

    /** Returns the rows of this case for the requested rows. */
    public long rows(long asked) {
        return Math.max(1, Math.round(asked * rowShare));
    }

    /** Returns the job in one of its forms. */
    public BenchJob job(Form form, long askedRows) {
        long rows = form == Form.FEW_ROWS ? FEW_ROWS : rows(askedRows);
        return new BenchJob(kind, rows, partitions, payloadBytes, form);
    }
}
