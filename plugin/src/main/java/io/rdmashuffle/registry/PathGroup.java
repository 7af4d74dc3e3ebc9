// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.List;

/**
 * Executors that another one reaches in the same way.
 *
 * @param path {@code shm}, {@code verbs}, {@code tcp}, {@code netty}, or the name of another fabric
 * @param executors how many there are
 * @param some ids of some of them
 */
public record PathGroup(String path, int executors, List<String> some) {
    /** Most executors that are named. */
    public static final int MAX_NAMED = 16;

    public PathGroup {
        some = List.copyOf(some);
    }

    /** Returns the group of these executors, some of which are named. */
    public static PathGroup of(String path, List<String> executorIds) {
        return new PathGroup(
                path,
                executorIds.size(),
                executorIds.stream().sorted().limit(MAX_NAMED).toList());
    }
}
