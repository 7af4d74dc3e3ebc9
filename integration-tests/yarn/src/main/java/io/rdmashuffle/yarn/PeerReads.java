// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * A shuffle that every executor reads whole: as many tasks as there are executors each read all map outputs and compare
 * every byte. Random bytes, so that no codec makes them fewer.
 *
 * <p>Arguments: executors, map outputs, MiB in each. A line on standard input asks for one more reading, and the end of
 * standard input ends the application.
 *
 * <p><b>Threading:</b> one request at a time.
 */
public final class PeerReads {
    /** Prefix of the answer on standard output: the bytes that were read, and how many were wrong. */
    public static final String PREFIX = "@@read ";

    private static final int CHUNK_BYTES = 32 << 10;
    private static final int PARTITIONS = 8;

    private PeerReads() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws IOException {
        int executors = Integer.parseInt(args[0]);
        int outputs = Integer.parseInt(args[1]);
        int chunks = (int) ((Long.parseLong(args[2]) << 20) / CHUNK_BYTES);
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf());
                BufferedReader requests =
                        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            JavaPairRDD<Integer, byte[]> written = context.parallelize(
                            IntStream.range(0, outputs).boxed().toList(), outputs)
                    .flatMapToPair(output -> output(output, chunks))
                    .partitionBy(new HashPartitioner(PARTITIONS));
            JavaRDD<long[]> once = written.coalesce(1).mapPartitions(PeerReads::check);
            JavaRDD<long[]> readings = once;
            for (int i = 1; i < executors; i++) {
                readings = readings.union(once);
            }
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                List<long[]> read = readings.collect();
                long bytes = read.stream().mapToLong(each -> each[0]).sum();
                long wrong = read.stream().mapToLong(each -> each[1]).sum();
                System.out.println(PREFIX + bytes + " " + wrong);
            }
        }
    }

    private static Iterator<Tuple2<Integer, byte[]>> output(int output, int chunks) {
        return IntStream.range(output * chunks, (output + 1) * chunks)
                .mapToObj(chunk -> new Tuple2<>(chunk, bytes(chunk)))
                .iterator();
    }

    private static byte[] bytes(int chunk) {
        byte[] bytes = new byte[CHUNK_BYTES];
        new SplittableRandom(chunk).nextBytes(bytes);
        return bytes;
    }

    private static Iterator<long[]> check(Iterator<Tuple2<Integer, byte[]>> records) {
        long bytes = 0;
        long wrong = 0;
        while (records.hasNext()) {
            Tuple2<Integer, byte[]> record = records.next();
            bytes += record._2().length;
            wrong += Arrays.equals(record._2(), bytes(record._1())) ? 0 : record._2().length;
        }
        return List.of(new long[] {bytes, wrong}).iterator();
    }
}
