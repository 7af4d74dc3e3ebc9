// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.util.Utils$;

/**
 * Cluster for all fault tests of one kind of shuffle; no test depends on the outcome of another.
 *
 * <p><b>Threading:</b> one test at a time. <b>Ownership:</b> owns the cluster and its directory for pools.
 */
final class KindCluster implements AutoCloseable {
    private final ShuffleKind kind;
    private final int executors;
    private final PoolFolder pools;
    private final SparkCluster cluster;

    private KindCluster(ShuffleKind kind, int executors, PoolFolder pools, SparkCluster cluster) {
        this.kind = kind;
        this.executors = executors;
        this.pools = pools;
        this.cluster = cluster;
    }

    /** Starts one; configuration that is given wins. */
    static KindCluster start(ShuffleKind kind, int executors, Path localDirectory, Map<String, String> more)
            throws IOException {
        PoolFolder pools = PoolFolder.open();
        Map<String, String> conf = pools.conf("spark.local.dir", localDirectory.toString());
        conf.putAll(kind.conf(more));
        forgetLocalDirectories();
        try {
            return new KindCluster(kind, executors, pools, SparkCluster.start(executors, kind.fabric(), conf));
        } catch (RuntimeException | Error failure) {
            CloseOnFailure.close(failure, pools);
            throw failure;
        }
    }

    /** Spark caches the local directories of the first application of a JVM. */
    static void forgetLocalDirectories() {
        Utils$.MODULE$.clearLocalRootDirs();
    }

    SparkCluster spark() {
        return cluster;
    }

    PoolFolder pools() {
        return pools;
    }

    /** Waits until all executors are there, those in place of lost ones too, and looks at the cluster from then on. */
    Watched watch() {
        cluster.awaitExecutors(executors);
        return new Watched(this);
    }

    /** One test's look at a cluster. */
    static final class Watched {
        private final KindCluster all;
        private final ShuffleObserver observer;
        private final TaskRecorder tasks;
        private final ClusterStatistics before;

        private Watched(KindCluster all) {
            this.all = all;
            this.observer = new ShuffleObserver(all.cluster.context());
            this.tasks = new TaskRecorder(all.cluster.context());
            this.before = observer.statistics();
        }

        ShuffleObserver observer() {
            return observer;
        }

        TaskRecorder tasks() {
            return tasks;
        }

        /** Prepares a job of the cluster's kind. */
        JavaPairRDD<Integer, Long> prepare(GroupedBytes job) {
            return job.prepare(all.cluster.spark(), all.kind);
        }

        /** Returns what executors have read of each other since. */
        long bytesOfPeers() {
            return all.kind.bytesOfPeers(before, observer.statistics());
        }

        /** Asserts that bytes went the way of the cluster's kind, and that nothing is held once shuffles are gone. */
        void assertReadSoAndAllComesBack() throws InterruptedException {
            all.kind.assertRead(before, observer.statistics());
            observer.assertAllComesBack();
        }
    }

    @Override
    public void close() throws IOException {
        try (pools) {
            cluster.close();
        } finally {
            forgetLocalDirectories();
        }
    }
}
