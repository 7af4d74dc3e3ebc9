// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.SendRequests;
import java.util.List;
import java.util.Objects;

/** READ, WRITE and SEND: of pieces of local memory, one after the other, of which a single one may move. */
final class Transfer extends Work {
    private final Kind kind;
    private final LocalSlice[] pieces;
    /** What the single piece may move in, or all that is transferred; of no length for a SEND. */
    private final RemoteRegion remote;

    private final int immediate;
    /** Of the first piece, which may have moved since it was given. */
    private long localOffset;

    private int firstBytes;
    private long remoteOffset;

    /** Direction of the transfer. */
    enum Kind {
        READ("READ of ", " from "),
        WRITE("WRITE of ", " to "),
        WRITE_WITH_IMMEDIATE("WRITE with immediate of ", " to "),
        SEND("SEND of ", "");

        private final String verb;
        private final String preposition;

        Kind(String verb, String preposition) {
            this.verb = verb;
            this.preposition = preposition;
        }
    }

    /**
     * Describes a transfer between the pieces and the beginning of the remote region.
     *
     * @param immediate for {@link Kind#WRITE_WITH_IMMEDIATE} only
     */
    Transfer(Kind kind, List<LocalSlice> local, RemoteRegion remote, int immediate) {
        this.kind = kind;
        this.pieces = local.toArray(LocalSlice[]::new);
        this.remote = remote;
        this.immediate = immediate;
        if (pieces.length > 0) {
            localOffset = pieces[0].offset();
            firstBytes = pieces[0].lengthBytes();
        }
    }

    @Override
    void retain() {
        int retained = 0;
        try {
            for (LocalSlice piece : pieces) {
                piece.region().retain();
                retained++;
            }
        } finally {
            if (retained < pieces.length) {
                release(retained);
            }
        }
    }

    @Override
    void release() {
        release(pieces.length);
    }

    private void release(int count) {
        for (int i = 0; i < count; i++) {
            pieces[i].region().release();
        }
    }

    @Override
    void add(SendRequests chain, long workRequestId, int slot) {
        long local = 0;
        int key = 0;
        if (firstBytes > 0) {
            LocalRegion region = pieces[0].region();
            local = region.address(localOffset);
            key = region.localKey();
        }
        long target = remote.address() + remoteOffset;
        switch (kind) {
            case READ -> chain.read(workRequestId, local, firstBytes, key, target, remote.remoteKey(), true);
            case WRITE -> chain.write(workRequestId, local, firstBytes, key, target, remote.remoteKey(), true);
            case WRITE_WITH_IMMEDIATE ->
                chain.write(workRequestId, local, firstBytes, key, target, remote.remoteKey(), true)
                        .withImmediate(immediate);
            case SEND -> chain.send(workRequestId, local, firstBytes, key, true);
        }
        for (int i = 1; i < pieces.length; i++) {
            LocalSlice piece = pieces[i];
            // To some devices a piece of length 0 is one of 2 GiB.
            if (piece.lengthBytes() > 0) {
                LocalRegion region = piece.region();
                chain.andLocal(region.address(piece.offset()), piece.lengthBytes(), region.localKey());
            }
        }
    }

    @Override
    void move(long toLocal, long toRemote, int lengthBytes) {
        Objects.checkFromIndexSize(toLocal, lengthBytes, pieces[0].region().lengthBytes());
        Objects.checkFromIndexSize(toRemote, kind == Kind.SEND ? 0 : lengthBytes, remote.lengthBytes());
        localOffset = toLocal;
        remoteOffset = toRemote;
        firstBytes = lengthBytes;
    }

    @Override
    int lengthBytes() {
        return firstBytes;
    }

    /** Returns the number of scatter/gather entries. */
    int pieces() {
        int count = 0;
        for (LocalSlice piece : pieces) {
            count += piece.lengthBytes() > 0 ? 1 : 0;
        }
        return count;
    }

    /** Returns the bytes of all pieces. */
    long totalBytes() {
        long total = firstBytes;
        for (int i = 1; i < pieces.length; i++) {
            total += pieces[i].lengthBytes();
        }
        return total;
    }

    @Override
    public String toString() {
        String local = pieces.length == 1
                ? new LocalSlice(pieces[0].region(), localOffset, firstBytes).toString()
                : totalBytes() + " bytes in " + pieces.length + " pieces";
        if (kind == Kind.SEND) {
            return kind.verb + local;
        }
        boolean all = pieces.length != 1 || remoteOffset + firstBytes > remote.lengthBytes();
        return kind.verb + local + kind.preposition + (all ? remote : remote.slice(remoteOffset, firstBytes));
    }
}
