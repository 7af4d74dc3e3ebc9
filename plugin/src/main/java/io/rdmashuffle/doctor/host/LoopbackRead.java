// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.fabric.ReadTimes;
import io.rdmashuffle.verbs.VerbsLibrary;
import io.rdmashuffle.verbs.async.EndpointOptions;
import io.rdmashuffle.verbs.async.LocalRegion;
import io.rdmashuffle.verbs.async.RdmaConnection;
import io.rdmashuffle.verbs.async.RdmaEndpoint;
import io.rdmashuffle.verbs.async.RdmaListener;
import io.rdmashuffle.verbs.async.RemoteRegion;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * READ between two endpoints of this process over a device: all that an executor does to read from another one, but for
 * the network between the two.
 *
 * <p><b>Threading:</b> of one thread; the endpoints have one each.
 *
 * <p><b>Ownership:</b> owns both endpoints while it runs. Registers 2 MiB.
 */
final class LoopbackRead {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int SMALL_BYTES = 4 << 10;
    private static final int LARGE_BYTES = 256 << 10;
    private static final int DEPTH = 4;
    private static final int REGION_BYTES = DEPTH * LARGE_BYTES;

    private final RdmaConnection reader;
    private final LocalRegion source;
    private final LocalRegion target;

    private LoopbackRead(RdmaConnection reader, LocalRegion source, LocalRegion target) {
        this.reader = reader;
        this.source = source;
        this.target = target;
    }

    /**
     * Reads, compares the bytes, and measures.
     *
     * @throws IOException if something fails or takes too long, naming the step
     * @throws io.rdmashuffle.ffi.NativeException if the device refuses memory or a queue
     */
    static ReadTimes over(VerbsLibrary library, InetAddress address) throws IOException {
        EndpointOptions options = EndpointOptions.DEFAULT.withOperationTimeout(TIMEOUT);
        try (RdmaEndpoint owner = RdmaEndpoint.open(library, address, options);
                RdmaEndpoint other = RdmaEndpoint.open(library, address, options);
                LocalRegion source = owner.allocate(REGION_BYTES);
                LocalRegion target = other.allocate(REGION_BYTES);
                RdmaListener listener = owner.listen(0, connection -> {});
                RdmaConnection reader = await(
                        "connecting to " + address.getHostAddress(), other.connect(listener.address(), TIMEOUT))) {
            return new LoopbackRead(reader, source, target).run();
        }
    }

    private ReadTimes run() throws IOException {
        byte[] pattern = new byte[REGION_BYTES];
        new Random(REGION_BYTES).nextBytes(pattern);
        source.put(0, pattern);
        readAll();
        if (!Arrays.equals(pattern, target.get(0, REGION_BYTES))) {
            throw new IOException("a READ brought other bytes than there are");
        }
        return ReadTimes.measure(() -> await("a READ", read(0, SMALL_BYTES)), this::readAll, REGION_BYTES);
    }

    private void readAll() throws IOException {
        CompletableFuture<?>[] reads = new CompletableFuture<?>[DEPTH];
        for (int i = 0; i < reads.length; i++) {
            reads[i] = read(i * LARGE_BYTES, LARGE_BYTES);
        }
        await("READs", CompletableFuture.allOf(reads));
    }

    private CompletableFuture<Void> read(int offset, int length) {
        RemoteRegion all = source.describe();
        return reader.read(
                target.slice(offset, length), new RemoteRegion(all.address() + offset, length, all.remoteKey()));
    }

    private static <T> T await(String step, CompletableFuture<T> future) throws IOException {
        try {
            return future.get(TIMEOUT.toSeconds() + 1, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            throw new IOException(step + " failed: " + (cause == null ? e : cause).getMessage(), e);
        } catch (TimeoutException e) {
            throw new IOException(step + " took longer than " + TIMEOUT.toSeconds() + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(step + " was interrupted", e);
        }
    }
}
