// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

/** Jobs of the RDD API; reduce tasks read every record and compute a checksum. */
final class RddJobs {
    private static final int KEY_BYTES = 10;
    /** Combining halves what a map task of 20,000 rows writes; few keys would leave no shuffle to measure. */
    private static final int ROWS_PER_KEY = 800;

    private static final long SEED_STEP = 0x9e3779b97f4a7c15L;
    private static final int HASH_FACTOR = 31;

    private final JavaSparkContext context;
    private final BenchJob job;

    RddJobs(JavaSparkContext context, BenchJob job) {
        this.context = context;
        this.job = job;
    }

    /** Runs the job and returns an order-independent checksum of its results. */
    long run() {
        return switch (job.kind()) {
            case TERASORT -> terasort();
            case REDUCE_BY_KEY -> reduceByKey();
            case REPARTITION, GROUP_BY, JOIN, SKEW -> throw new IllegalArgumentException(job + " is for SQL");
        };
    }

    private long terasort() {
        int valueBytes = job.payloadBytes();
        Partitioner ranges = new PrefixPartitioner(job.partitions());
        JavaPairRDD<byte[], byte[]> records = placed(made(random -> entry(random, valueBytes)), ranges);
        LongAccumulator seen = context.sc().longAccumulator();
        records.repartitionAndSortWithinPartitions(ranges, (Comparator<byte[]> & Serializable) Arrays::compareUnsigned)
                .foreachPartition(rows -> seen.add(sum(rows)));
        return seen.sum();
    }

    private long reduceByKey() {
        long keys = Math.max(1, job.rows() / ROWS_PER_KEY);
        Partitioner hashes = new HashPartitioner(job.partitions());
        JavaPairRDD<Long, Long> records =
                placed(made(random -> new Tuple2<>(random.nextLong(keys), random.nextLong(1_000))), hashes);
        LongAccumulator seen = context.sc().longAccumulator();
        records.reduceByKey(hashes, Long::sum).foreachPartition(rows -> {
            long sum = 0;
            while (rows.hasNext()) {
                Tuple2<Long, Long> row = rows.next();
                sum += HASH_FACTOR * row._1() + row._2();
            }
            seen.add(sum);
        });
        return seen.sum();
    }

    /** Leaves the records alone, or spares them the shuffle. */
    private <K, V> JavaPairRDD<K, V> placed(JavaPairRDD<K, V> records, Partitioner partitioner) {
        if (job.shuffles()) {
            return records;
        }
        RDD<Tuple2<K, V>> claimed = new ClaimedPartitions<>(records.rdd(), partitioner);
        return JavaPairRDD.fromRDD(claimed, records.kClassTag(), records.vClassTag());
    }

    /** Makes one record. */
    private interface Maker<K, V> extends Serializable {
        Tuple2<K, V> make(SplittableRandom random);
    }

    private <K, V> JavaPairRDD<K, V> made(Maker<K, V> maker) {
        int partitions = job.partitions();
        long rows = job.rows();
        List<Integer> tasks = IntStream.range(0, partitions).boxed().toList();
        return context.parallelize(tasks, partitions).flatMapToPair(task -> {
            SplittableRandom random = new SplittableRandom(task * SEED_STEP);
            long share = rows / partitions + (task < rows % partitions ? 1 : 0);
            return LongStream.range(0, share).mapToObj(i -> maker.make(random)).iterator();
        });
    }

    /** The first half of the value is random, the rest zeros. */
    private static Tuple2<byte[], byte[]> entry(SplittableRandom random, int valueBytes) {
        byte[] key = new byte[KEY_BYTES];
        random.nextBytes(key);
        byte[] noise = new byte[valueBytes / 2];
        random.nextBytes(noise);
        return new Tuple2<>(key, Arrays.copyOf(noise, valueBytes));
    }

    private static long sum(Iterator<Tuple2<byte[], byte[]>> rows) {
        long sum = 0;
        while (rows.hasNext()) {
            Tuple2<byte[], byte[]> row = rows.next();
            sum += (long) HASH_FACTOR * Arrays.hashCode(row._1()) + row._2()[0] + row._2()[row._2().length - 1];
        }
        return sum;
    }

    /**
     * Ranges of equal width of the first four bytes, unsigned: even partitions where keys are random, and no sampling
     * job.
     */
    private static final class PrefixPartitioner extends Partitioner {
        private final int partitions;

        PrefixPartitioner(int partitions) {
            this.partitions = partitions;
        }

        @Override
        public int numPartitions() {
            return partitions;
        }

        @Override
        public int getPartition(Object key) {
            long prefix = Integer.toUnsignedLong(ByteBuffer.wrap((byte[]) key).getInt());
            return (int) ((prefix * partitions) >>> Integer.SIZE);
        }
    }
}
