// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Shared parts of runs on YARN: paths, messages, and a node that kills containers. */
final class YarnRuns {
    /**
     * Makes the container monitor kill containers above their limit, which by default is left to control groups, even
     * if there are none. Virtual memory of a JVM is always above the limit.
     */
    static final Map<String, String> MONITOR_KILLS = Map.of(
            "yarn.nodemanager.resource.memory.enforced", "false", "yarn.nodemanager.vmem-check-enabled", "false");

    /** Begins a line that {@code bin/yarn-test} shows, out of all that is in its log. */
    private static final String SHOWN = "@ ";

    private YarnRuns() {}

    static void show(String line) {
        System.out.println(SHOWN + line);
    }

    /** Makes an empty folder in target; what an earlier run left there goes. */
    static Path fresh(Workspace workspace, String name) {
        try {
            Path folder = workspace.target("yarn").resolve("run").resolve(name);
            Workspace.deleteTree(folder);
            return Files.createDirectories(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
