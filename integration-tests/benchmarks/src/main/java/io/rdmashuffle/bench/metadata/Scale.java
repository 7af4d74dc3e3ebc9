// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Size of a shuffle, and its executors. */
record Scale(int maps, int partitions, int executors) {
    private static final int STEP = 10;

    /** Returns this scale, then a tenth of each dimension in turn where that leaves something. */
    List<Scale> growth() {
        Scale fewerMaps = new Scale(maps / STEP, partitions, executors);
        Scale fewerPartitions = new Scale(maps, partitions / STEP, executors);
        Scale fewerExecutors = new Scale(maps, partitions, executors / STEP);
        return Stream.of(this, fewerMaps, fewerPartitions, fewerExecutors)
                .filter(scale -> scale.maps > 0 && scale.partitions > 0 && scale.executors > 0)
                .collect(Collectors.toCollection(ArrayList::new));
    }

    /** Returns the ids of the map outputs of one executor: every so-manieth one, as a scheduler spreads them. */
    long[] mapIds(int shuffleId, int executor) {
        int here = (maps - executor + executors - 1) / executors;
        long[] ids = new long[Math.max(0, here)];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = (long) shuffleId * maps + executor + (long) i * executors;
        }
        return ids;
    }

    @Override
    public String toString() {
        return maps + "x" + partitions + "/" + executors;
    }
}
