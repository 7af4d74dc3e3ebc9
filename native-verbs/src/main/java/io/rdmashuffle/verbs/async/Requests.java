// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.util.List;
import java.util.OptionalInt;

/**
 * Checks what callers ask of a connection and turns it into requests.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> the scratch region is its connection's, which frees it when nothing is outstanding.
 */
final class Requests {
    private final DeviceAbilities device;
    private final EndpointOptions options;
    /** For each slot 8 bytes for the old value of an atomic, then for each slot the bytes of an inline message. */
    private final LocalRegion scratch;

    private volatile long timeoutNanos;

    Requests(DeviceAbilities device, EndpointOptions options, LocalRegion scratch) {
        this.device = device;
        this.options = options;
        this.scratch = scratch;
        this.timeoutNanos = options.operationTimeout().toNanos();
    }

    static long scratchBytes(EndpointOptions options) {
        return (long) options.maxInFlight() * (Long.BYTES + options.inlineBytes());
    }

    /** Sets the timeout of what is prepared from now on. */
    void setTimeout(long nanos) {
        timeoutNanos = nanos;
    }

    Request<Void> read(List<LocalSlice> local, RemoteRegion remote) {
        String name = "READ of " + describe(local) + " from " + remote;
        requireEqual(name, local, remote);
        local.forEach(piece -> piece.region().requireLocalWrite("READ into " + piece));
        return transfer(
                name,
                local,
                device.maxPiecesOfRead(),
                (chain, id, first) -> chain.read(
                        id, first.address, first.length, first.localKey, remote.address(), remote.remoteKey(), true));
    }

    Request<Void> write(List<LocalSlice> local, RemoteRegion remote, OptionalInt immediate) {
        String name =
                (immediate.isPresent() ? "WRITE with immediate of " : "WRITE of ") + describe(local) + " to " + remote;
        requireEqual(name, local, remote);
        return transfer(name, local, device.maxPieces(), (chain, id, first) -> {
            chain.write(id, first.address, first.length, first.localKey, remote.address(), remote.remoteKey(), true);
            immediate.ifPresent(chain::withImmediate);
        });
    }

    Request<Void> send(List<LocalSlice> local) {
        return transfer(
                "SEND of " + describe(local),
                local,
                device.maxPieces(),
                (chain, id, first) -> chain.send(id, first.address, first.length, first.localKey, true));
    }

    Request<Void> send(byte[] message) {
        if (message.length > options.inlineBytes()) {
            throw new IllegalArgumentException("inline message of " + message.length + " bytes: at most "
                    + options.inlineBytes() + "; send a slice of a region instead");
        }
        byte[] copy = message.clone();
        String name = "SEND of " + message.length + " bytes inline";
        return new Request<>(operation(name, List.of(), Requests::nothing), (chain, id, slot) -> {
            // The device copies while it is posted, and the slot is this request's until then.
            long offset = (long) options.maxInFlight() * Long.BYTES + (long) slot * options.inlineBytes();
            scratch.put(offset, copy);
            chain.send(id, scratch.address(offset), copy.length, scratch.localKey(), true)
                    .inline();
        });
    }

    Request<Long> compareAndSwap(RemoteRegion remote, long expected, long desired) {
        requireAtomic(remote);
        return new Request<>(
                operation("COMPARE_AND_SWAP at " + remote, List.of(), this::oldValue),
                (chain, id, slot) -> chain.compareAndSwap(
                        id,
                        scratch.address((long) slot * Long.BYTES),
                        scratch.localKey(),
                        remote.address(),
                        remote.remoteKey(),
                        expected,
                        desired));
    }

    Request<Long> fetchAndAdd(RemoteRegion remote, long addend) {
        requireAtomic(remote);
        return new Request<>(
                operation("FETCH_AND_ADD at " + remote, List.of(), this::oldValue),
                (chain, id, slot) -> chain.fetchAndAdd(
                        id,
                        scratch.address((long) slot * Long.BYTES),
                        scratch.localKey(),
                        remote.address(),
                        remote.remoteKey(),
                        addend));
    }

    Operation<ReceivedMessage> receive(LocalSlice local) {
        String name = "RECEIVE into " + local;
        requireOwn(name, local);
        if (local.lengthBytes() > 0) {
            local.region().requireLocalWrite(name);
        }
        return new Operation<>(name, List.of(local.region()), Operation.NEVER, Requests::received);
    }

    /** The first piece of local memory of a request; its region is kept open by the operation. */
    private record Piece(long address, int length, int localKey) {
        static final Piece NONE = new Piece(0, 0, 0);

        static Piece of(LocalSlice slice) {
            LocalRegion region = slice.region();
            return new Piece(region.address(slice.offset()), slice.lengthBytes(), region.localKey());
        }
    }

    private interface FirstPiece {
        void add(SendRequests chain, long workRequestId, Piece first);
    }

    private Request<Void> transfer(String name, List<LocalSlice> local, int maxPieces, FirstPiece first) {
        local.forEach(piece -> requireOwn(name, piece));
        // To some devices a piece of length 0 is one of 2 GiB.
        List<LocalSlice> pieces =
                local.stream().filter(piece -> piece.lengthBytes() > 0).toList();
        if (pieces.size() > maxPieces) {
            throw new IllegalArgumentException(name + ": at most " + maxPieces
                    + " pieces of local memory; open the endpoint with more maxPieces, if the device has more");
        }
        List<LocalRegion> regions = local.stream().map(LocalSlice::region).toList();
        return new Request<>(operation(name, regions, Requests::nothing), (chain, id, slot) -> {
            first.add(chain, id, pieces.isEmpty() ? Piece.NONE : Piece.of(pieces.get(0)));
            for (LocalSlice slice : pieces.subList(Math.min(1, pieces.size()), pieces.size())) {
                Piece piece = Piece.of(slice);
                chain.andLocal(piece.address, piece.length, piece.localKey);
            }
        });
    }

    private <T> Operation<T> operation(String name, List<LocalRegion> regions, Operation.Result<T> result) {
        return new Operation<>(name, regions, timeoutNanos, result);
    }

    private void requireOwn(String name, LocalSlice local) {
        if (!local.region().isOf(device.domain())) {
            throw new IllegalArgumentException(name + ": the region belongs to another endpoint");
        }
    }

    private void requireAtomic(RemoteRegion remote) {
        if (!device.atomics()) {
            throw new UnsupportedOperationException(
                    device.deviceName() + " has no atomics (ibv_devinfo -v: atomic_cap)");
        }
        if (remote.lengthBytes() != Long.BYTES || remote.address() % Long.BYTES != 0) {
            throw new IllegalArgumentException("atomic on " + remote + ": must be 8 bytes, aligned to 8");
        }
    }

    private static void requireEqual(String name, List<LocalSlice> local, RemoteRegion remote) {
        if (length(local) != remote.lengthBytes()) {
            throw new IllegalArgumentException(name + ": must be equally long");
        }
    }

    private static long length(List<LocalSlice> local) {
        return local.stream().mapToLong(LocalSlice::lengthBytes).sum();
    }

    private static String describe(List<LocalSlice> local) {
        return local.size() == 1 ? local.get(0).toString() : length(local) + " bytes in " + local.size() + " pieces";
    }

    @SuppressWarnings("NullAway") // a future of Void knows only null
    private static Void nothing(WorkCompletions completions, int index, int slot) {
        return null;
    }

    private Long oldValue(WorkCompletions completions, int index, int slot) {
        return scratch.getLong((long) slot * Long.BYTES);
    }

    private static ReceivedMessage received(WorkCompletions completions, int index, int slot) {
        return ReceivedMessage.of(completions, index);
    }
}
