// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Job that shuffles records of one size in a separate JVM and prints a digest of the result.
 *
 * <p>Arguments: kind, bytes of a record, records, partitions, then {@code key=value} for Spark.
 */
final class LargeRecords {
    /** Array of which a record consists; with its header it fills regions of G1. */
    private static final int CHUNK_BYTES = (16 << 20) - 16;

    private static final int SMALL_BYTES = 1000;

    /** Contents of the records, and who combines them. */
    enum Kind {
        KRYO,
        JAVA,
        ROW,
        COMBINER,
        /** Small records of 400 MB in front of large ones. */
        MIXED
    }

    private LargeRecords() {}

    /** Fails with the job's error, after which the exit code is not 0. */
    public static void main(String[] arguments) throws IOException {
        Kind kind = Kind.valueOf(arguments[0].toUpperCase(Locale.ROOT));
        long bytes = Long.parseLong(arguments[1]);
        int records = Integer.parseInt(arguments[2]);
        int partitions = Integer.parseInt(arguments[3]);
        SparkSession.Builder builder = SparkSession.builder()
                .master("local[1]")
                .config("spark.ui.enabled", "false")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config(
                        "spark.serializer",
                        kind == Kind.JAVA
                                ? "org.apache.spark.serializer.JavaSerializer"
                                : "org.apache.spark.serializer.KryoSerializer");
        Arrays.stream(arguments)
                .skip(4)
                .map(each -> each.split("=", 2))
                .forEach(each -> builder.config(each[0], each[1]));
        long started = System.nanoTime();
        try (SparkSession spark = builder.getOrCreate()) {
            String digest = kind == Kind.ROW
                    ? rows(spark, bytes, records, partitions)
                    : pairs(spark, kind, bytes, records, partitions);
            System.out.printf("DIGEST %s%nMILLIS %d%n", digest, (System.nanoTime() - started) / 1_000_000);
        }
    }

    private static String rows(SparkSession spark, long bytes, int records, int partitions) {
        Row row = spark.range(0, records, 1, 1)
                .selectExpr("id", "repeat(cast(id % 10 as string), " + bytes + ") as text")
                .repartition(partitions, new Column("id"))
                .selectExpr("count(*)", "sum(length(text))", "bit_xor(xxhash64(id, text))")
                .first();
        return row.mkString(" ");
    }

    private static String pairs(SparkSession spark, Kind kind, long bytes, int records, int partitions) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        JavaPairRDD<Integer, List<byte[]>> large = kind == Kind.COMBINER
                ? context.parallelize(List.of(0), 1)
                        .flatMapToPair(one -> chunks(bytes, records))
                        .aggregateByKey(
                                new ArrayList<>(),
                                new HashPartitioner(partitions),
                                LargeRecords::with,
                                LargeRecords::both)
                : context.parallelize(List.of(0), 1)
                        .flatMapToPair(one -> Stream.concat(
                                        kind == Kind.MIXED ? small(400_000_000 / SMALL_BYTES) : Stream.empty(),
                                        IntStream.range(0, records).mapToObj(i -> new Tuple2<>(i, record(i, bytes))))
                                .iterator())
                        .partitionBy(new HashPartitioner(partitions));
        return large.map(LargeRecords::digest).reduce(Long::sum).toString();
    }

    private static Iterator<Tuple2<Integer, byte[]>> chunks(long bytes, int records) {
        return IntStream.range(0, records)
                .boxed()
                .flatMap(i -> IntStream.range(0, (int) ((bytes + CHUNK_BYTES - 1) / CHUNK_BYTES))
                        .mapToObj(c -> new Tuple2<>(i, chunk(i, c, bytes))))
                .iterator();
    }

    private static Stream<Tuple2<Integer, List<byte[]>>> small(int count) {
        return IntStream.range(0, count).mapToObj(i -> new Tuple2<>(i, record(i, SMALL_BYTES)));
    }

    private static List<byte[]> record(int number, long bytes) {
        List<byte[]> chunks = new ArrayList<>();
        for (int c = 0; (long) c * CHUNK_BYTES < bytes; c++) {
            chunks.add(chunk(number, c, bytes));
        }
        return chunks;
    }

    private static byte[] chunk(int number, int index, long bytes) {
        byte[] chunk = new byte[(int) Math.min(CHUNK_BYTES, bytes - (long) index * CHUNK_BYTES)];
        Arrays.fill(chunk, (byte) (number * 31 + index));
        chunk[chunk.length / 2] = (byte) index;
        return chunk;
    }

    private static List<byte[]> with(List<byte[]> combiner, byte[] chunk) {
        combiner.add(chunk);
        return combiner;
    }

    private static List<byte[]> both(List<byte[]> left, List<byte[]> right) {
        left.addAll(right);
        return left;
    }

    /** Returns a sum over the arrays, since combiners are merged in any order. */
    private static long digest(Tuple2<Integer, List<byte[]>> record) {
        long sum = record._1();
        for (byte[] chunk : record._2()) {
            CRC32C crc = new CRC32C();
            crc.update(chunk, 0, chunk.length);
            sum += crc.getValue();
        }
        return sum;
    }
}
