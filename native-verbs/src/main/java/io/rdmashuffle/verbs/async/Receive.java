// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.util.Objects;
import java.util.OptionalInt;

/** Receive with the properties of its message. */
final class Receive extends Work {
    private final LocalRegion region;
    private long offset;
    private int capacity;
    private int arrived;
    private boolean withImmediate;
    private int immediate;

    Receive(LocalSlice local) {
        this.region = local.region();
        this.offset = local.offset();
        this.capacity = local.lengthBytes();
    }

    @Override
    void retain() {
        region.retain();
    }

    @Override
    void release() {
        region.release();
    }

    @Override
    void add(ReceiveRequests chain, long workRequestId) {
        chain.add(workRequestId, region.address(offset), capacity, region.localKey());
    }

    @Override
    void takeResult(WorkCompletions completions, int index, int slot) {
        arrived = completions.lengthBytes(index);
        withImmediate = completions.hasImmediate(index);
        immediate = withImmediate ? completions.immediate(index) : 0;
    }

    /** Returns the bytes that arrived, or that a write with immediate data wrote. */
    int arrived() {
        return arrived;
    }

    boolean hasImmediate() {
        return withImmediate;
    }

    int immediate() {
        return immediate;
    }

    ReceivedMessage message() {
        return new ReceivedMessage(arrived, withImmediate ? OptionalInt.of(immediate) : OptionalInt.empty());
    }

    @Override
    void move(long toLocal, long remoteOffset, int lengthBytes) {
        Objects.checkFromIndexSize(toLocal, lengthBytes, region.lengthBytes());
        Objects.checkFromIndexSize(remoteOffset, 0, 0);
        offset = toLocal;
        capacity = lengthBytes;
    }

    @Override
    int lengthBytes() {
        return capacity;
    }

    @Override
    public String toString() {
        return "RECEIVE into " + new LocalSlice(region, offset, capacity);
    }
}
