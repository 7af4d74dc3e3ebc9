// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.List;

/**
 * Validation of requests to a connection, and their conversion to work requests.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> the scratch region is its connection's, which frees it when nothing is outstanding.
 */
final class Requests {
    private static final RemoteRegion NO_REMOTE = new RemoteRegion(0, 0, 0);

    private final DeviceAbilities device;
    private final EndpointOptions options;
    /** For each slot 8 bytes for the old value of an atomic, then for each slot the bytes of an inline message. */
    private final LocalRegion scratch;

    Requests(DeviceAbilities device, EndpointOptions options, LocalRegion scratch) {
        this.device = device;
        this.options = options;
        this.scratch = scratch;
    }

    static long scratchBytes(EndpointOptions options) {
        return (long) options.maxInFlight() * (Long.BYTES + options.inlineBytes());
    }

    /** Returns a READ or WRITE of all of the remote region. */
    Transfer transfer(Transfer.Kind kind, List<LocalSlice> local, RemoteRegion remote, int immediate) {
        Transfer transfer = new Transfer(kind, local, remote, immediate);
        if (transfer.totalBytes() != remote.lengthBytes()) {
            throw new IllegalArgumentException(transfer + ": local and remote memory, of " + transfer.totalBytes()
                    + " and " + remote.lengthBytes() + " bytes, must be equally long");
        }
        return checked(transfer, kind, local);
    }

    /** Returns a READ or WRITE that may move in the remote region, and starts at its beginning. */
    Transfer transferWithin(Transfer.Kind kind, LocalSlice local, RemoteRegion remote, int immediate) {
        List<LocalSlice> pieces = List.of(local);
        Transfer transfer = new Transfer(kind, pieces, remote, immediate);
        if (local.lengthBytes() > remote.lengthBytes()) {
            throw new IllegalArgumentException(
                    transfer + ": the remote memory must be at least as long as the local memory");
        }
        return checked(transfer, kind, pieces);
    }

    Transfer send(List<LocalSlice> local) {
        return checked(new Transfer(Transfer.Kind.SEND, local, NO_REMOTE, 0), Transfer.Kind.SEND, local);
    }

    InlineMessage send(byte[] message) {
        if (message.length > options.inlineBytes()) {
            throw new IllegalArgumentException("inline message of " + message.length + " bytes: at most "
                    + options.inlineBytes() + "; send a slice of a region instead");
        }
        long firstSlot = (long) options.maxInFlight() * Long.BYTES;
        return new InlineMessage(message.clone(), scratch, firstSlot, options.inlineBytes());
    }

    Atomic compareAndSwap(RemoteRegion remote, long expected, long desired) {
        requireAtomic(remote);
        return Atomic.compareAndSwap(scratch, remote, expected, desired);
    }

    Atomic fetchAndAdd(RemoteRegion remote, long addend) {
        requireAtomic(remote);
        return Atomic.fetchAndAdd(scratch, remote, addend);
    }

    /** Checks a region that an atomic may move in, beginning with the first 8 bytes; returns it. */
    private RemoteRegion requireAtomics(RemoteRegion remote) {
        requireAtomic(remote.lengthBytes() < Long.BYTES ? remote : remote.slice(0, Long.BYTES));
        return remote;
    }

    Atomic compareAndSwapWithin(RemoteRegion remote, long expected, long desired) {
        return Atomic.compareAndSwap(scratch, requireAtomics(remote), expected, desired);
    }

    Atomic fetchAndAddWithin(RemoteRegion remote, long addend) {
        return Atomic.fetchAndAdd(scratch, requireAtomics(remote), addend);
    }

    Receive receive(LocalSlice local) {
        Receive receive = new Receive(local);
        requireOwn(receive, local);
        if (local.lengthBytes() > 0) {
            local.region().requireLocalWrite(receive);
        }
        return receive;
    }

    private Transfer checked(Transfer transfer, Transfer.Kind kind, List<LocalSlice> local) {
        for (int i = 0; i < local.size(); i++) {
            requireOwn(transfer, local.get(i));
            if (kind == Transfer.Kind.READ) {
                local.get(i).region().requireLocalWrite(transfer);
            }
        }
        int maxPieces = kind == Transfer.Kind.READ ? device.maxPiecesOfRead() : device.maxPieces();
        if (transfer.pieces() > maxPieces) {
            throw new IllegalArgumentException(transfer + ": at most " + maxPieces
                    + " pieces of local memory; open the endpoint with more maxPieces, if the device has more");
        }
        return transfer;
    }

    private void requireOwn(Work work, LocalSlice local) {
        if (!local.region().isOf(device.domain())) {
            throw new IllegalArgumentException(work + ": the region belongs to another endpoint");
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
}
