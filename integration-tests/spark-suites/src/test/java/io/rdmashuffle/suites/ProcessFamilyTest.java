// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.BufferedReader;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class ProcessFamilyTest {
    @Test
    void killsOrphansOfTheFamilyOnly() throws Exception {
        ProcessFamily family = new ProcessFamily();
        Process stranger = new ProcessBuilder("sleep", "50").start();
        try {
            ProcessBuilder builder = new ProcessBuilder("sh", "-c", "setsid sleep 50 >/dev/null & echo $!");
            family.adopt(builder);
            Process parent = builder.start();
            long orphan;
            try (BufferedReader reader = parent.inputReader()) {
                orphan = Long.parseLong(reader.readLine());
            }
            assertThat(parent.waitFor(10, TimeUnit.SECONDS)).isTrue();
            ProcessHandle child = ProcessHandle.of(orphan).orElseThrow();
            await().until(() ->
                    List.of(child.info().arguments().orElse(new String[0])).equals(List.of("50")));

            assertThat(family.kill()).isPositive();

            child.onExit().get(10, TimeUnit.SECONDS);
            assertThat(stranger.isAlive()).isTrue();
        } finally {
            stranger.destroyForcibly();
        }
    }
}
