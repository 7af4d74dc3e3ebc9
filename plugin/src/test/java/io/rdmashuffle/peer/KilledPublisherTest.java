// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.DirectoryFormatException;
import io.rdmashuffle.directory.DirectoryLocation;
import io.rdmashuffle.directory.IndexCache;
import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.directory.StoredRange;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Pools of processes that were killed, or stopped, at any moment of writing and publishing map outputs: all published
 * outputs are whole, and there are no others. A process that was writing the record of a shuffle leaves that damaged,
 * and readers refuse the shuffle rather than read from it. {@code -Drdmashuffle.kills=N} sets how many are killed.
 */
@Tag("unit")
@Tag("fault")
@ExtendWith(LeakCheck.class)
class KilledPublisherTest {
    private static final int KILLS = Integer.getInteger("rdmashuffle.kills", 5);
    private static final long SEED = Long.getLong("fuzz.seed", System.nanoTime());

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path files;

    private final ShmFabric shared = new ShmFabric(1, 1 << 20, true);
    private Node reader;
    private int refused;

    @BeforeEach
    void open() {
        reader = new Node(directory, new ShmFabric(1, 1 << 20, true));
    }

    @AfterEach
    void close() {
        reader.close();
        shared.close();
    }

    private Process start(Path counts) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Publisher.class.getName(),
                        directory.toString(),
                        counts.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /** Compares every output that it has published, and returns their number; empty if the shuffle is refused. */
    private OptionalLong checkUnlessRefused(byte[] address, DirectoryLocation location, ByteBuffer counts)
            throws Exception {
        try {
            return OptionalLong.of(check(address, location, counts));
        } catch (DirectoryFormatException e) {
            refused++;
            return OptionalLong.empty();
        }
    }

    private long check(byte[] address, DirectoryLocation location, ByteBuffer counts) throws Exception {
        try (EndedPool pool = Objects.requireNonNull(shared.open("3", address));
                Peer peer = shared.connect("3", address)) {
            BlockingReads reads =
                    new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(10));
            RemoteDirectory found = new RemoteDirectory(peer, location, reads, new IndexCache(1 << 20));
            long published = 0;
            for (int thread = 0; thread < Publisher.THREADS; thread++) {
                long count = counts.getLong(thread * Long.BYTES);
                published += count;
                // One more may have been published and not counted.
                for (long i = 0; i <= count; i++) {
                    long mapId = i * Publisher.THREADS + thread;
                    DirectoryEntry entry = found.find(Publisher.SHUFFLE, mapId);
                    assertThat(entry != null || i == count)
                            .as("output %d of %d", i, count)
                            .isTrue();
                    if (entry != null) {
                        StoredRange range = Objects.requireNonNull(
                                MapOutputIndex.range(entry, pool::bytes, 0, Publisher.PARTITIONS));
                        assertThat(range.isIntact())
                                .as("output %d of %d", i, count)
                                .isTrue();
                        assertThat(TestOutput.join(range.pieces())).isEqualTo(join(Publisher.content(mapId)));
                    }
                }
            }
            found.forget();
            return published;
        }
    }

    private static byte[] join(byte[][] parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        ByteBuffer all = ByteBuffer.allocate(length);
        for (byte[] part : parts) {
            all.put(part);
        }
        return all.array();
    }

    private long killOne(Random random) throws Exception {
        Path counted = Files.write(Files.createTempFile(files, "counts", ""), new byte[Publisher.THREADS * Long.BYTES]);
        Process process = start(counted);
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String[] told =
                    Objects.requireNonNull(out.readLine(), "it has ended").split(" ", -1);
            byte[] address = HexFormat.of().parseHex(told[1]);
            DirectoryLocation location = DirectoryLocation.decode(HexFormat.of().parseHex(told[2]));
            ByteBuffer counts = Publisher.counts(counted, FileChannel.MapMode.READ_ONLY);
            eventually().until(() -> counts.getLong(0) > 0);
            // A moment that nothing in the process has to do with.
            LockSupport.parkNanos(random.nextInt(30_000_000));
            signal(process, "STOP");
            OptionalLong stopped = checkUnlessRefused(address, location, counts);
            assertThat(stopped.orElse(1)).isPositive();
            signal(process, "CONT");
            LockSupport.parkNanos(random.nextInt(1_000_000));
            process.destroyForcibly();
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
            OptionalLong published = checkUnlessRefused(address, location, counts);
            assertThat(published.orElse(Long.MAX_VALUE)).isGreaterThanOrEqualTo(stopped.orElse(0));
            return stopped.orElse(0) + published.orElse(0);
        } finally {
            process.destroyForcibly();
        }
    }

    private static void signal(Process process, String name) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
        assertThat(kill.waitFor()).isZero();
    }

    @Test
    @Timeout(value = 30, unit = TimeUnit.MINUTES)
    void whatWasPublishedIsWhole() throws Exception {
        Random random = new Random(SEED);
        long published = 0;
        for (int i = 0; i < KILLS; i++) {
            published += killOne(random);
        }
        System.out.println(published + " map outputs of " + KILLS + " stopped and killed processes, " + refused
                + " shuffles refused, seed " + SEED);
        assertThat(published).isPositive();
    }
}
