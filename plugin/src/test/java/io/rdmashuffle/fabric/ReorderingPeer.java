// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.TestPools;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A peer whose reads arrive in pieces of a few bytes, in any order and at different times, as over networks that
 * deliver packets so (AWS EFA).
 *
 * <p><b>Threading:</b> thread-safe; a read ends on the thread that begins it.
 */
public final class ReorderingPeer {
    private static final int MAX_PIECES = 16;
    /** Words are whole: a device reads no less at once. */
    private static final int WORD = Long.BYTES;

    private final Peer peer;
    private final Pool pool;
    private final Random random;

    private ReorderingPeer(Peer peer, Pool pool, long seed) {
        this.peer = peer;
        this.pool = pool;
        this.random = new Random(seed);
    }

    /** Bytes of a source, and where they go in the target. */
    private record Piece(RemoteSlice source, long targetOffset) {}

    /** Returns {@code peer}, which its owner closes, with its reads in pieces that use leases of {@code pool}. */
    public static Peer over(Peer peer, Pool pool, long seed) {
        ReorderingPeer reordering = new ReorderingPeer(peer, pool, seed);
        return (Peer) Proxy.newProxyInstance(
                Peer.class.getClassLoader(), new Class<?>[] {Peer.class}, (proxy, method, arguments) -> {
                    return method.getName().equals("read")
                            ? (Object) reordering.read((ReadRequest) arguments[0])
                            : reordering.invoke(method, arguments);
                });
    }

    private @Nullable Object invoke(Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(peer, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    private boolean read(ReadRequest request) throws InterruptedException {
        for (Piece piece : pieces(request)) {
            Lease lease =
                    TestPools.reserve(pool, Purpose.RECEIVE, piece.source().lengthBytes());
            Completions completions = new Completions();
            ReadRequest part = new ReadRequest(List.of(piece.source()), lease, request.deadlineNanos(), completions);
            // False if it waits for others: it ends all the same.
            boolean unused = peer.read(part);
            completions.await(List.of(part));
            ReadFailedException failure = completions.failure(part);
            if (failure != null) {
                request.target().close();
                request.listener().failed(request, failure);
                return true;
            }
            byte[] bytes = new byte[(int) piece.source().lengthBytes()];
            lease.memory().getBytes(0, bytes, 0, bytes.length);
            request.target().memory().putBytes(piece.targetOffset(), bytes, 0, bytes.length);
            lease.close();
        }
        request.listener().succeeded(request);
        return true;
    }

    private List<Piece> pieces(ReadRequest request) {
        List<Piece> pieces = new ArrayList<>();
        long done = 0;
        for (RemoteSlice source : request.sources()) {
            long most = Math.max(WORD, (source.lengthBytes() / MAX_PIECES + WORD - 1) / WORD * WORD);
            for (long offset = 0; offset < source.lengthBytes(); offset += most) {
                long length = Math.min(most, source.lengthBytes() - offset);
                pieces.add(
                        new Piece(new RemoteSlice(source.regionId(), source.offset() + offset, length), done + offset));
            }
            done += source.lengthBytes();
        }
        synchronized (random) {
            Collections.shuffle(pieces, random);
        }
        return pieces;
    }
}
