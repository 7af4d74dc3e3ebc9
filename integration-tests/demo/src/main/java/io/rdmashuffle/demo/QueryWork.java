// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

/**
 * Work of a query's executors, with any shuffle.
 *
 * @param reduceTasks tasks of stages that read a shuffle
 * @param shuffleWrittenBytes bytes that tasks wrote to shuffles, compressed where they are
 * @param memoryBytes that the executors' processes hold after it, each page once
 * @param executorMillis time that executors were there since the query before, of all of them together
 * @param faults executors that were killed, and their cost
 */
public record QueryWork(
        long reduceTasks, long shuffleWrittenBytes, long memoryBytes, long executorMillis, Faults faults) {
    static final QueryWork NONE = new QueryWork(0, 0, 0, 0, Faults.NONE);

    /** Returns the work since an earlier count, with the memory of this one. */
    QueryWork minus(QueryWork earlier) {
        return new QueryWork(
                reduceTasks - earlier.reduceTasks,
                shuffleWrittenBytes - earlier.shuffleWrittenBytes,
                memoryBytes,
                executorMillis - earlier.executorMillis,
                faults.minus(earlier.faults));
    }

    /**
     * Executors that the bench killed, and tasks that failed or ran again.
     *
     * @param killed executors
     * @param failedReads tasks that could not read a shuffle
     * @param mapTasksAgain map tasks that ran to their end once more
     */
    public record Faults(long killed, long failedReads, long mapTasksAgain) {
        public static final Faults NONE = new Faults(0, 0, 0);

        /** Returns the difference to an earlier count. */
        Faults minus(Faults earlier) {
            return new Faults(
                    killed - earlier.killed, failedReads - earlier.failedReads, mapTasksAgain - earlier.mapTasksAgain);
        }
    }
}
