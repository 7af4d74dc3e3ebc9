// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("unit")
class ExecutorClassPathTest {
    private static final Path JAR = Path.of("/home/me/rdma-shuffle-spark-1.0.jar");
    private static final Path SPARK = Path.of("/opt/spark/jars/spark-core_2.13-4.1.3.jar");

    private static ExecutorClassPath on(boolean spark4, Map<String, String> conf) {
        return new ExecutorClassPath(conf::get, JAR, SPARK, spark4);
    }

    private static Map<String, String> with(String key, String value) {
        return Map.of("spark.master", "spark://host:7077", key, value);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "spark.jars | file:/home/me/other.jar,file:/home/me/rdma-shuffle-spark-1.0.jar",
                "spark.jars | hdfs://name/jars/plugin.jar#rdma-shuffle-spark-1.0.jar",
                "spark.jars | local:///opt/rdma-shuffle-spark-1.0.jar",
                "spark.yarn.dist.jars | file:///home/me/rdma-shuffle-spark-1.0.jar",
                "spark.yarn.secondary.jars | rdma-shuffle-spark-1.0.jar",
                "spark.executor.extraClassPath | /opt/a.jar:/opt/rdma-shuffle-spark-1.0.jar",
                "spark.executor.extraClassPath | /opt/plugins/*",
                "spark.executor.extraClassPath | /opt/classes",
                "spark.yarn.jars | hdfs://name/spark/*",
                "spark.yarn.archive | hdfs://name/spark.zip"
            })
    void acceptsEveryWayToExecutorsOfSpark4(String key, String value) {
        assertThat(on(true, with(key, value)).reasonAgainst()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "spark.jars | file:/home/me/rdma-shuffle-spark-1.0.jar",
                "spark.yarn.dist.jars | file:///home/me/rdma-shuffle-spark-1.0.jar",
                "spark.executor.extraClassPath | /opt/other.jar",
                "spark.driver.extraClassPath | /home/me/rdma-shuffle-spark-1.0.jar",
            })
    void namesExtraClassPathOnSpark35(String key, String value) {
        assertThat(on(false, with(key, value)).reasonAgainst())
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains("spark.executor.extraClassPath")
                        .contains("rdma-shuffle-spark-1.0.jar"));
    }

    @Test
    void namesJarsOnSpark4() {
        assertThat(on(true, with("spark.jars", "file:/home/me/my-job.jar")).reasonAgainst())
                .hasValueSatisfying(
                        reason -> assertThat(reason).contains("--jars /home/me/rdma-shuffle-spark-1.0.jar"));
    }

    @Test
    void acceptsLocalModeAndJarsOfTheInstallation() {
        assertThat(on(false, Map.of("spark.master", "local[4]")).reasonAgainst())
                .isEmpty();
        assertThat(new ExecutorClassPath(
                                with("spark.a", "b")::get,
                                SPARK.resolveSibling("rdma-shuffle-spark-1.0.jar"),
                                SPARK,
                                false)
                        .reasonAgainst())
                .isEmpty();
        assertThat(new ExecutorClassPath(with("spark.a", "b")::get, null, SPARK, false).reasonAgainst())
                .isEmpty();
    }

    @Test
    void acceptsAnApplicationJarThatHoldsThePlugin() {
        Path application = Path.of("/yarn/container_1/__app__.jar");
        assertThat(new ExecutorClassPath(Map.of("spark.master", "yarn")::get, application, SPARK, true).reasonAgainst())
                .isEmpty();
    }
}
