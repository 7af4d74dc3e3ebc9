// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import io.rdmashuffle.directory.DirectoryLocation;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadTimes;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.List;

/**
 * Path to an executor, with the speed of reading its directory. One read at a time: less than a device does with many
 * of them outstanding.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param executorId which executor
 * @param fabric {@code shm}, {@code verbs}, {@code tcp}; {@code netty} if no one-sided path leads there
 * @param inPlace whether its bytes are used where they lie
 * @param medianNanos of reads of some bytes; 0 without a path
 * @param bytesPerSecond of reads of its directory's first table; 0 without a path
 * @param reason why there is no path, or why a read over it failed; empty if none did
 * @param passedOver why fabrics that come before this one do not reach the executor; empty if there are none
 */
public record PathProbe(
        String executorId,
        String fabric,
        boolean inPlace,
        long medianNanos,
        double bytesPerSecond,
        String reason,
        String passedOver) {
    /** Stands for Spark's block transfer. */
    public static final String NETTY = "netty";

    static PathProbe none(String executorId, String reason) {
        return new PathProbe(executorId, NETTY, false, 0, 0, reason, "");
    }

    /** Reads a peer's directory. */
    static PathProbe over(
            String executorId,
            String fabric,
            Peer peer,
            DirectoryLocation location,
            BlockingReads reads,
            String passedOver)
            throws InterruptedIOException {
        RemoteSlice table = location.table();
        RemoteSlice small =
                new RemoteSlice(table.regionId(), table.offset(), Math.min(ReadTimes.SMALL_BYTES, table.lengthBytes()));
        byte[] target = new byte[Math.toIntExact(table.lengthBytes())];
        try {
            boolean inPlace = isInPlace(peer, small);
            ReadTimes times = ReadTimes.measure(
                    () -> read(peer, small, reads, target),
                    () -> read(peer, table, reads, target),
                    table.lengthBytes());
            return new PathProbe(
                    executorId, fabric, inPlace, times.medianNanos(), times.bytesPerSecond(), "", passedOver);
        } catch (InterruptedIOException e) {
            throw e;
        } catch (IOException e) {
            return none(executorId, fabric + " failed: " + e.getMessage());
        }
    }

    private static boolean isInPlace(Peer peer, RemoteSlice slice) throws ReadFailedException {
        RemoteBytes view = RemoteBytes.inPlace(peer, List.of(slice));
        if (view != null) {
            view.close();
        }
        return view != null;
    }

    private static void read(Peer peer, RemoteSlice slice, BlockingReads reads, byte[] target)
            throws ReadFailedException, InterruptedIOException {
        try (RemoteBytes bytes = reads.read(peer, List.of(slice))) {
            bytes.memory(0).getBytes(0, target, 0, Math.toIntExact(slice.lengthBytes()));
        }
    }
}
