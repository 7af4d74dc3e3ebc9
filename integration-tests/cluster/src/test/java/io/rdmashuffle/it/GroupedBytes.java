// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import io.rdmashuffle.harness.ShuffleMode;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * A job that groups rows of random bytes; a map output has about 800 KB.
 *
 * @param maps map tasks
 * @param reduces reduce tasks
 * @param readMillis how long a reduce task takes for each row that it reads, so that something can happen
 *     meanwhile; there are 200 rows a map task
 */
public record GroupedBytes(int maps, int reduces, int readMillis) {
    private static final int KEYS = 50;
    private static final int ROWS = 200;
    private static final int ROW_BYTES = 4_000;

    /** Prepares the job, so that a second action on it reads the map outputs of the first. */
    public JavaPairRDD<Integer, Iterable<Row>> prepare(SparkSession spark) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        List<Integer> seeds = IntStream.range(0, maps).boxed().toList();
        int millis = readMillis;
        return context.parallelize(seeds, maps)
                .flatMapToPair(seed -> {
                    Random random = new Random(seed);
                    return IntStream.range(0, ROWS)
                            .mapToObj(row -> new Tuple2<>(row % KEYS, Row.random(random, millis)))
                            .iterator();
                })
                .groupByKey(reduces);
    }

    /** Runs the job: a sum over all bytes for each key. */
    public static Map<Integer, Long> sums(JavaPairRDD<Integer, Iterable<Row>> grouped) {
        return new HashMap<>(grouped.mapValues(rows -> {
                    long sum = 0;
                    for (Row row : rows) {
                        sum += row.sum();
                    }
                    return sum;
                })
                .collectAsMap());
    }

    /** Returns the result as Spark's sort shuffle has it. */
    public Map<Integer, Long> withSortShuffle() throws IOException {
        try (SparkSession spark = LocalSpark.start(ShuffleMode.SORT.conf())) {
            return sums(new GroupedBytes(maps, reduces, 0).prepare(spark));
        }
    }

    /** Bytes that take their time to be read. */
    public static final class Row implements Serializable {
        private static final long serialVersionUID = 1L;

        private final byte[] bytes;
        private final int readMillis;

        private Row(byte[] bytes, int readMillis) {
            this.bytes = bytes;
            this.readMillis = readMillis;
        }

        private static Row random(Random random, int readMillis) {
            byte[] bytes = new byte[ROW_BYTES];
            random.nextBytes(bytes);
            return new Row(bytes, readMillis);
        }

        private long sum() {
            long sum = 0;
            for (byte b : bytes) {
                sum = sum + b * 31L + 1;
            }
            return sum;
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            try {
                Thread.sleep(readMillis);
            } catch (InterruptedException e) {
                throw new InterruptedIOException("the task was killed while it read");
            }
        }
    }
}
