// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ApplicationDirectoryTest {
    private static Optional<Path> find(Map<String, String> environment) {
        return ApplicationDirectory.find(environment::get);
    }

    @Test
    void standaloneAndYarnGiveAnApplicationItsOwn() {
        assertThat(find(Map.of("SPARK_EXECUTOR_DIRS", "/a/executor-1:/b/executor-2")))
                .contains(Path.of("/a/executor-1"));
        assertThat(find(Map.of("CONTAINER_ID", "c", "LOCAL_DIRS", "/y/appcache/application_1,/z")))
                .contains(Path.of("/y/appcache/application_1"));
    }

    @Test
    void directoriesOfAllApplicationsAreNone() {
        assertThat(find(Map.of("SPARK_LOCAL_DIRS", "/tmp", "LOCAL_DIRS", "/tmp")))
                .isEmpty();
        assertThat(find(Map.of("CONTAINER_ID", "c"))).isEmpty();
        assertThat(find(Map.of("SPARK_EXECUTOR_DIRS", ""))).isEmpty();
        assertThat(find(Map.of("SPARK_EXECUTOR_DIRS", "/a\n/b"))).isEmpty();
    }
}
