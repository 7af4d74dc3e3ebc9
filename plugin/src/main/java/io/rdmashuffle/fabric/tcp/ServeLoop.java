// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Thread that serves peers, with the resources that its connections share.
 *
 * <p><b>Threading:</b> {@link #revoke} and {@link #close} may be called by any thread, everything else by the loop's.
 *
 * <p><b>Ownership:</b> owns its selector loop, which closes the connections, and the open files of the disk tier.
 */
final class ServeLoop implements SelectorLoop.Work, AutoCloseable {
    /** Room for one request of any length, and for many short ones. */
    private static final int IN_BYTES = 32 << 10;

    private static final int KEPT_BUFFERS = 16;

    private final SelectorLoop selector;
    private final RegionBuffers buffers = new RegionBuffers();
    private final DiskFiles files = new DiskFiles();
    private final Staging staging;
    private final ArrayDeque<ByteBuffer> inBuffers = new ArrayDeque<>(KEPT_BUFFERS);
    private final Set<Served> connections = new HashSet<>();

    /** Connection of a peer; on the thread of the loop. */
    interface Served {
        /** Returns whether the peer is this process. */
        boolean isOf(long fabricId);

        /** Returns whether the peer reads a pool. */
        boolean reads(ServedPool pool);

        /** Ends the connection. */
        void close();
    }

    ServeLoop(String name) throws IOException {
        this.staging = new Staging();
        try {
            this.selector = new SelectorLoop(name, this);
            selector.start();
        } catch (IOException | RuntimeException | Error e) {
            staging.close();
            throw e;
        }
    }

    SelectorLoop selector() {
        return selector;
    }

    RegionBuffers buffers() {
        return buffers;
    }

    DiskFiles files() {
        return files;
    }

    Staging staging() {
        return staging;
    }

    void opened(Served connection) {
        connections.add(connection);
    }

    void closed(Served connection) {
        connections.remove(connection);
    }

    /** Closes the connections of a process. */
    void revoke(long fabricId) {
        boolean unused = selector.execute(() -> close(connection -> connection.isOf(fabricId)));
    }

    /** Closes the connections that read a pool, and its buffers and files. */
    void renounce(ServedPool served, EndedPool pool) {
        // A loop that has ended has closed everything.
        boolean unused = selector.execute(() -> {
            close(connection -> connection.reads(served));
            pool.regions().forEach(buffers::forget);
            pool.usedFiles().forEach(files::forget);
        });
    }

    private void close(Predicate<Served> which) {
        Set.copyOf(connections).stream().filter(which).forEach(Served::close);
    }

    /** Lends a buffer for requests that have arrived. */
    ByteBuffer lendBuffer() {
        ByteBuffer kept = inBuffers.poll();
        return kept == null ? ByteBuffer.allocateDirect(IN_BYTES).order(ByteOrder.LITTLE_ENDIAN) : kept.clear();
    }

    void returnBuffer(ByteBuffer buffer) {
        if (inBuffers.size() < KEPT_BUFFERS) {
            inBuffers.push(buffer);
        }
    }

    /** Drops the buffers over a region that has no lease any more. */
    void forget(Region region) {
        buffers.forget(region);
    }

    @Override
    public boolean step() {
        return false;
    }

    @Override
    public void end() {
        buffers.close();
        files.close();
        staging.close();
    }

    @Override
    public void close() {
        selector.close();
    }
}
