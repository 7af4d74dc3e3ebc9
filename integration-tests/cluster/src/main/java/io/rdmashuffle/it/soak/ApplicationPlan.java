// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import io.rdmashuffle.harness.ShuffleMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One application of a soak: its configuration, its jobs, and what happens to it meanwhile. Follows from seed, number
 * and way alone, so that one that failed can be run again.
 *
 * <p>Application {@value #ON_DEFAULTS} runs on the defaults, which is what most users run: only its jobs, its faults
 * and the deadlines that faults need are drawn or set. Of the others most have a {@link Way} that their bytes go;
 * the rest is drawn.
 *
 * @param number counts from 0
 * @param way that its bytes go
 * @param executors each with one core and 1 GB
 * @param conf our application's Spark configuration
 * @param steps its jobs in turn
 */
record ApplicationPlan(int number, Way way, int executors, Map<String, String> conf, List<Step> steps) {
    static final int ON_DEFAULTS = 0;

    private static final int MOST_STEPS = 9;
    private static final int FAULTS_PERCENT = 75;
    private static final long SEED_STEP = 0x9e3779b97f4a7c15L;

    /**
     * One job.
     *
     * @param during what happens while it runs; null for nothing
     * @param when share of the job's expected time after which it happens
     * @param between what happens before the job is run again on the same map outputs; null for nothing
     */
    record Step(
            JobSpec job,
            @Nullable Fault during,
            double when,
            @Nullable Fault between) {}

    /**
     * Draws one.
     *
     * @param fabric path to use; null draws one for every application
     * @param poolDirectory where pools lie
     * @param faults allowed ones
     */
    static ApplicationPlan random(
            long seed, int number, Way way, @Nullable ShuffleMode fabric, Path poolDirectory, Set<Fault> faults) {
        Random random = new Random(seed + number * SEED_STEP);
        int executors = way == Way.COPIED || way == Way.ON_DISK ? 4 : 2 + random.nextInt(2);
        Map<String, String> conf = new LinkedHashMap<>();
        ShuffleMode drawn =
                pick(random, ShuffleMode.AUTO, ShuffleMode.AUTO, ShuffleMode.SHM, ShuffleMode.TCP, ShuffleMode.NETTY);
        conf.putAll((fabric == null ? drawn : fabric).conf());
        conf.put("spark.master", "local-cluster[" + executors + ",1,1024]");
        conf.put("spark.shuffle.rdma.pool.directory", poolDirectory.toString());
        if (number == ON_DEFAULTS) {
            conf.putAll((fabric == null ? ShuffleMode.AUTO : fabric).conf());
        } else {
            pools(random, conf);
            spark(random, conf);
            allocation(random, conf, executors);
            settle(random, way, conf);
            if (fabric != null) {
                conf.putAll(fabric.conf());
            }
        }
        timeouts(conf);
        return new ApplicationPlan(number, way, executors, conf, steps(random, way, faults));
    }

    /** Returns this plan with configuration of every application, which wins. */
    ApplicationPlan with(Map<String, String> more) {
        Map<String, String> all = new LinkedHashMap<>(conf);
        all.putAll(more);
        return new ApplicationPlan(number, way, executors, all, steps);
    }

    private static void pools(Random random, Map<String, String> conf) {
        String[] sizes = pick(
                random,
                new String[] {"1m", "1m"},
                new String[] {"4m", "1m"},
                new String[] {"16m", "4m"},
                new String[] {"64m", "16m"},
                new String[] {"256m", "64m"},
                new String[] {"256m", "256m"});
        conf.put("spark.shuffle.rdma.pool.maxSize", sizes[0]);
        conf.put("spark.shuffle.rdma.pool.regionSize", sizes[1]);
        conf.put("spark.shuffle.rdma.pool.initialSize", sizes[1]);
        conf.put("spark.shuffle.rdma.directory.maxShuffles", pick(random, "64", "1024"));
        conf.put("spark.shuffle.rdma.pool.chunkSize", pick(random, "4k", "64k", "512k"));
        conf.put("spark.shuffle.rdma.disk.enabled", pick(random, "true", "true", "false"));
        conf.put("spark.shuffle.rdma.disk.compress", pick(random, "auto", "always", "never"));
        conf.put("spark.shuffle.rdma.pool.reserveTimeout", pick(random, "0ms", "100ms"));
        conf.put("spark.shuffle.rdma.fabric.shm.inPlace", pick(random, "true", "true", "false"));
        conf.put("spark.shuffle.rdma.fabric.maxBytesInFlight", pick(random, "1m", "48m"));
        conf.put("spark.shuffle.rdma.peer.quarantine", pick(random, "0ms", "2s"));
        conf.put("spark.shuffle.rdma.direct.compressAbove", pick(random, "0", "75", "100"));
        conf.put("spark.shuffle.rdma.outlive.enabled", pick(random, "true", "false"));
    }

    private static void spark(Random random, Map<String, String> conf) {
        // Set to true, Spark's streams are used; unset, direct shuffles compress files only.
        String compress = pick(random, "true", "false", "unset", "unset");
        if (!compress.equals("unset")) {
            conf.put("spark.shuffle.compress", compress);
        }
        String codec = pick(random, "unset", "unset", "lz4", "zstd", "snappy", "lzf");
        if (!codec.equals("unset")) {
            conf.put("spark.io.compression.codec", codec);
        }
        conf.put("spark.io.encryption.enabled", pick(random, "false", "false", "false", "true"));
        conf.put("spark.authenticate", pick(random, "false", "false", "true"));
        conf.put("spark.authenticate.secret", "soak");
        conf.put("spark.serializer", "org.apache.spark.serializer." + pick(random, "JavaSerializer", "KryoSerializer"));
        conf.put("spark.sql.adaptive.enabled", pick(random, "true", "true", "false"));
        conf.put("spark.sql.adaptive.advisoryPartitionSizeInBytes", pick(random, "64k", "4m"));
        conf.put("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "64k");
        conf.put("spark.sql.adaptive.skewJoin.skewedPartitionFactor", "2");
        conf.put("spark.sql.autoBroadcastJoinThreshold", "-1");
        conf.put("spark.reducer.maxSizeInFlight", pick(random, "256k", "48m"));
        conf.put("spark.reducer.maxReqsInFlight", pick(random, "1", "1000"));
        conf.put("spark.network.maxRemoteBlockSizeFetchToMem", pick(random, "8k", "200m"));
        conf.put("spark.speculation", pick(random, "false", "true"));
        conf.put("spark.shuffle.sort.bypassMergeThreshold", pick(random, "1", "200"));
        conf.put("spark.shuffle.spill.initialMemoryThreshold", pick(random, "5m", "16k"));
    }

    /** Executors come when there is work and go when there is none, with the outputs that nothing needs any more. */
    private static void allocation(Random random, Map<String, String> conf, int executors) {
        if (pick(random, false, false, true)) {
            conf.put("spark.dynamicAllocation.enabled", "true");
            conf.put("spark.dynamicAllocation.shuffleTracking.enabled", "true");
            conf.put("spark.dynamicAllocation.shuffleTracking.timeout", "15s");
            conf.put("spark.dynamicAllocation.executorIdleTimeout", "3s");
            conf.put("spark.dynamicAllocation.initialExecutors", Integer.toString(executors));
            conf.put("spark.dynamicAllocation.minExecutors", "1");
            conf.put("spark.dynamicAllocation.maxExecutors", Integer.toString(executors));
        }
    }

    private static void settle(Random random, Way way, Map<String, String> conf) {
        if (way == Way.DRAWN) {
            return;
        }
        boolean inPlace = way == Way.IN_PLACE;
        ShuffleMode copying = pick(random, ShuffleMode.SHM, ShuffleMode.TCP);
        conf.putAll((inPlace ? ShuffleMode.AUTO : copying).conf());
        conf.remove("spark.shuffle.compress");
        conf.put("spark.io.encryption.enabled", "false");
        conf.put("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
        conf.put("spark.shuffle.rdma.fabric.shm.inPlace", Boolean.toString(inPlace));
        conf.put("spark.shuffle.rdma.disk.enabled", "true");
        // What compresses well would be next to nothing there.
        conf.put("spark.shuffle.rdma.disk.compress", "auto");
        conf.put("spark.shuffle.rdma.pool.maxSize", way == Way.ON_DISK ? "1m" : "256m");
        conf.put("spark.shuffle.rdma.pool.regionSize", way == Way.ON_DISK ? "1m" : "64m");
        conf.put("spark.shuffle.rdma.pool.initialSize", way == Way.ON_DISK ? "1m" : "64m");
        conf.put("spark.network.maxRemoteBlockSizeFetchToMem", "200m");
        if (!inPlace) {
            // Tasks do not go where their blocks are.
            conf.put("spark.shuffle.reduceLocality.enabled", "false");
            conf.put("spark.sql.adaptive.localShuffleReader.enabled", "false");
        }
    }

    /** Deadlines short enough for faults to be noticed, attempts enough for a job to outlive all of them. */
    private static void timeouts(Map<String, String> conf) {
        conf.put("spark.ui.enabled", "false");
        conf.put("spark.decommission.enabled", "true");
        conf.put("spark.storage.decommission.enabled", "true");
        conf.put("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1");
        conf.put("spark.shuffle.rdma.fabric.readTimeout", "3s");
        conf.put("spark.shuffle.rdma.fetch.timeout", "30s");
        conf.put("spark.shuffle.rdma.registry.timeout", "5s");
        conf.put("spark.shuffle.rdma.registry.sweepInterval", "2s");
        conf.put("spark.shuffle.io.retryWait", "500ms");
        conf.put("spark.executor.heartbeatInterval", "5s");
        conf.put("spark.network.timeout", "60s");
        conf.put("spark.task.maxFailures", "100");
        conf.put("spark.stage.maxConsecutiveAttempts", "100");
        conf.put("spark.deploy.maxExecutorRetries", "-1");
    }

    /** Of an application that has its way, two jobs in three are large, so that bytes go that way. */
    private static List<Step> steps(Random random, Way way, Set<Fault> faults) {
        List<Step> steps = new ArrayList<>();
        int count = 5 + random.nextInt(MOST_STEPS - 4);
        for (int i = 0; i < count; i++) {
            JobSpec job = JobSpec.random(random, way.isLarge(random.nextInt(3)));
            Fault during = random.nextInt(100) < FAULTS_PERCENT / 2 ? Fault.random(random, false, faults) : null;
            Fault between = random.nextInt(100) < FAULTS_PERCENT ? Fault.random(random, true, faults) : null;
            steps.add(new Step(job, during, random.nextDouble(), between));
        }
        return steps;
    }

    @SafeVarargs
    private static <T> T pick(Random random, T... values) {
        return values[random.nextInt(values.length)];
    }
}
