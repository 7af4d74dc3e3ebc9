// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

/**
 * Work of a query's executors, with any shuffle.
 *
 * @param reduceTasks tasks of stages that read a shuffle
 * @param shuffleWrittenBytes bytes that tasks wrote to shuffles, compressed where they are
 * @param memoryBytes that the executors' processes hold after it, each page once
 */
public record QueryWork(long reduceTasks, long shuffleWrittenBytes, long memoryBytes) {
    static final QueryWork NONE = new QueryWork(0, 0, 0);
}
