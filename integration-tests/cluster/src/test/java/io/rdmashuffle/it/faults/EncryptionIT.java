// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleObserver;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of the data visible to other processes of the user, and on disks. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class EncryptionIT {
    private static final GroupedBytes JOB = new GroupedBytes(6, 4, 0);

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @TempDir
    Path local;

    @BeforeEach
    @AfterEach
    void forgetLocalDirectories() {
        KindCluster.forgetLocalDirectories();
    }

    /** Without encryption the same search finds every map output, so that it can find what should not be there. */
    @ParameterizedTest
    @CsvSource({"true, 2m", "false, 2m"})
    void noRecordIsStoredAsItIsWithIoEncryption(boolean encrypted, String pool) throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.local.dir",
                local.toString(),
                "spark.io.encryption.enabled",
                Boolean.toString(encrypted),
                "spark.authenticate",
                "true",
                "spark.authenticate.secret",
                "for this test",
                "spark.shuffle.rdma.directory.maxShuffles",
                "64",
                "spark.shuffle.rdma.pool.maxSize",
                pool);
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            JavaPairRDD<Integer, Long> held = JOB.prepare(cluster.spark());
            assertThat(GroupedBytes.sums(held)).isEqualTo(JOB.expected());
            int found = StoredRecords.count(pools.path(), local, JOB);
            assertThat(found).isEqualTo(encrypted ? 0 : JOB.maps());
            new ShuffleObserver(cluster.context()).assertAllComesBack();
        }
    }
}
