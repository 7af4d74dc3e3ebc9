// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(120)
class ServerProcessTest {
    /** A server that answers once and ends. */
    static final class Once {
        private Once() {}

        public static void main(String[] args) {
            System.out.println("not a reply");
            System.out.println("@@one");
        }
    }

    @Test
    void aServerThatEndedSaysSoEachTimeAndIsNotWaitedFor(@TempDir Path folder) throws Exception {
        JavaProcess java = new JavaProcess(Once.class.getName()).classPath(System.getProperty("java.class.path"));
        Duration timeout = Duration.ofSeconds(30);
        try (ServerProcess server = new ServerProcess(java, folder.resolve("log"), "@@")) {
            assertThat(server.await(timeout).line()).isEqualTo("one");
            assertThat(server.await(timeout).error()).isEqualTo("the Spark driver ended");
            assertThat(server.await(timeout).error()).isEqualTo("the Spark driver ended");
        }
    }
}
