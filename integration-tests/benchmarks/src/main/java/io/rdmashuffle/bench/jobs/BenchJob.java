// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

/**
 * Request of a job for an application.
 *
 * @param kind kind of the job
 * @param rows that go in, over all map tasks
 * @param partitions map tasks and reduce tasks, as many of each
 * @param payloadBytes length of the payload of a row, for kinds that have one
 * @param form the whole job, or which part of it
 */
public record BenchJob(Kind kind, long rows, int partitions, int payloadBytes, Form form) {
    /** Kind of a job. */
    public enum Kind {
        /** Rows of the DataFrame API by the hash of a column without skew. */
        REPARTITION,
        /** Aggregation with half as many groups as rows. */
        GROUP_BY,
        /** Sort-merge join of two halves whose keys match one to one. */
        JOIN,
        /** RDD of 10 + 90 bytes, sorted by key within range partitions. */
        TERASORT,
        /** RDD with map-side combine. */
        REDUCE_BY_KEY,
        /** As REPARTITION, with half of the rows in one partition. */
        SKEW
    }

    /** Share of a job that is run. */
    public enum Form {
        /** The job. */
        FULL,
        /** The same rows made and consumed alike, nothing exchanged: the first floor. */
        UNSHUFFLED,
        /** The job's plan with hardly a row, which is scheduling alone: the second floor. */
        FEW_ROWS
    }

    /** Returns whether records go through a shuffle. */
    public boolean shuffles() {
        return form != Form.UNSHUFFLED;
    }
}
