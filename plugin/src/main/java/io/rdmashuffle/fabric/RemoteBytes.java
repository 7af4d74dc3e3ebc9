// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of several slices of one peer, readable here until {@link #close()}: in place or copied, the reader need
 * not know.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Ownership:</b> the holder closes it, once.
 *
 * @param slices one for each slice asked for, in order
 * @param release unmaps or releases the memory of the bytes
 */
public record RemoteBytes(List<StoredSlice> slices, Runnable release) implements AutoCloseable {
    public RemoteBytes {
        slices = List.copyOf(slices);
    }

    /** Returns views of all slices, or null if the fabric can only copy. */
    public static @Nullable RemoteBytes inPlace(Peer peer, List<RemoteSlice> sources) throws ReadFailedException {
        List<RemoteView> views = new ArrayList<>(sources.size());
        try {
            for (RemoteSlice source : sources) {
                RemoteView view = peer.view(source);
                if (view == null) {
                    views.forEach(RemoteView::close);
                    return null;
                }
                views.add(view);
            }
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, views.toArray(AutoCloseable[]::new));
            throw failure;
        }
        return new RemoteBytes(views.stream().map(RemoteView::bytes).toList(), () -> views.forEach(RemoteView::close));
    }

    /** Wraps the target of a request that succeeded; the lease is closed with the result. */
    public static RemoteBytes copied(ReadRequest request) {
        Lease lease = request.target();
        MemorySlice memory = lease.memory();
        List<StoredSlice> slices = new ArrayList<>(request.sources().size());
        long offset = 0;
        for (RemoteSlice source : request.sources()) {
            slices.add(memory.slice(offset, source.lengthBytes()));
            offset += source.lengthBytes();
        }
        return new RemoteBytes(slices, lease::close);
    }

    /**
     * Returns the bytes of a slice of the memory tier.
     *
     * @throws IllegalStateException if it is one of the disk tier that was not copied
     */
    public MemorySlice memory(int index) {
        if (slices.get(index) instanceof MemorySlice memory) {
            return memory;
        }
        throw new IllegalStateException("the slice lies on disk");
    }

    @Override
    public void close() {
        release.run();
    }
}
