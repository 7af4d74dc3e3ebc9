// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.yarn.NodeManagerLog.Usage;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class NodeManagerLogTest {
    /** Lines of a NodeManager of Hadoop 3.5.0. */
    private static final List<String> LINES = List.of(
            "17:46:45.956 INFO ContainersMonitorImpl: container_1_0001_01_000002's ip = 127.0.0.1",
            "17:46:46.956 DEBUG audit: Resource usage of ProcessTree 812 for container-id container_1_0001_01_000002:"
                    + " 1.4 GB of 1.3 GB physical memory used; 4.0 GB of 2.6 GB virtual memory used %CPU: 12.5"
                    + " %CPU-cores: 6.3 vCores-used: 0 of 1 Cumulative-CPU-ms: 12",
            "17:46:46.956 DEBUG audit: Resource usage of ProcessTree 813 for container-id container_1_0001_01_000003:"
                    + " 356.5 MB of 1.3 GB physical memory used; 3.2 GB of 2.6 GB virtual memory used %CPU: 12.5",
            "17:46:46.957 WARN ContainersMonitorImpl: Container [pid=812,containerID=container_1_0001_01_000002] is"
                    + " running 98304000B beyond the 'PHYSICAL' memory limit. Current usage: 1.4 GB of 1.3 GB physical"
                    + " memory used; 4.0 GB of 2.6 GB virtual memory used. Killing container.");

    @Test
    void measurementsAndKillsAreRead() {
        NodeManagerLog log = NodeManagerLog.parse(LINES);

        assertThat(log.usages())
                .containsExactly(
                        new Usage("container_1_0001_01_000002", 1.4 * 1024, 1.3 * 1024, 4096),
                        new Usage("container_1_0001_01_000003", 356.5, 1.3 * 1024, 3.2 * 1024));
        assertThat(log.kills()).singleElement().asString().contains("'PHYSICAL'", "1.4 GB of 1.3 GB");
    }
}
