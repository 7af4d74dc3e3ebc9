// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/**
 * The user's job of {@code bin/install-test}: a shuffle with known sums, and what carried it. Knows nothing of the
 * plugin at compile time. Writes its findings to the file that {@code spark.example.result} names.
 */
public final class MyJob {
    private static final int KEYS = 1_000;
    private static final long ROWS = 400_000;

    private MyJob() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws Exception {
        try (SparkSession spark =
                SparkSession.builder().config(authenticated()).appName("my-job").getOrCreate()) {
            AtomicInteger removed = new AtomicInteger();
            spark.sparkContext().addSparkListener(new SparkListener() {
                @Override
                public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
                    removed.incrementAndGet();
                }
            });
            awaitExecutors(spark);
            List<Row> sums = spark.range(0, ROWS, 1, 8)
                    .groupBy(functions.col("id").mod(KEYS).as("key"))
                    .agg(functions.sum("id").as("sum"), functions.collect_list("id").as("ids"))
                    .select(functions.col("key"), functions.col("sum"), functions.size(functions.col("ids")))
                    .collectAsList();
            boolean right = sums.size() == KEYS;
            for (Row row : sums) {
                long key = row.getLong(0);
                long each = ROWS / KEYS;
                right &= row.getLong(1) == each * key + KEYS * each * (each - 1) / 2 && row.getInt(2) == each;
            }
            TreeSet<String> managers = new TreeSet<>(JavaSparkContext.fromSparkContext(spark.sparkContext())
                    .parallelize(List.of(1, 2, 3, 4), 4)
                    .map(one -> SparkEnv.get().shuffleManager().getClass().getName())
                    .collect());
            List<String> found = new ArrayList<>();
            found.add("result=" + (right ? "right" : "wrong"));
            found.add("removed=" + removed.get());
            found.add("managers=" + String.join(",", managers));
            found.add("statistics=" + statistics());
            found.add("application=" + spark.sparkContext().applicationId());
            Files.write(Path.of(spark.conf().get("spark.example.result")), found);
        }
    }

    /**
     * Returns the configuration with the secret of {@code spark.authenticate}. A Worker gives it to a driver in cluster
     * mode by the environment only, where {@code SecurityManager.initializeAuth} does not look (Spark 4.1, whatever the
     * shuffle).
     */
    private static SparkConf authenticated() {
        SparkConf conf = new SparkConf();
        String secret = System.getenv("_SPARK_AUTH_SECRET");
        if (secret != null && conf.getBoolean("spark.authenticate", false)) {
            conf.setIfMissing("spark.authenticate.secret", secret);
        }
        return conf;
    }

    private static void awaitExecutors(SparkSession spark) throws InterruptedException {
        int wanted = Integer.parseInt(spark.conf().get("spark.example.executors"));
        long deadline = System.nanoTime() + Duration.ofSeconds(90).toNanos();
        while (spark.sparkContext().statusTracker().getExecutorInfos().length - 1 < wanted) {
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("not " + wanted + " executors after 90 s");
            }
            Thread.sleep(50);
        }
    }

    /** Returns the plugin's counters, or a word where there is no plugin. */
    private static String statistics() throws ReflectiveOperationException {
        Object manager = SparkEnv.get().shuffleManager();
        try {
            return String.valueOf(
                    manager.getClass().getMethod("statistics", Duration.class).invoke(manager, Duration.ofSeconds(20)));
        } catch (NoSuchMethodException e) {
            return "none";
        }
    }
}
