// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.verbs.device.FakeQueues;
import io.rdmashuffle.memory.TestPools;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How reads ended: each once, and none while the device could still write into its target.
 *
 * <p><b>Threading:</b> thread-safe. <b>Ownership:</b> gives the targets of reads that succeeded back.
 */
final class Outcomes implements ReadRequest.Listener {
    private final FakeQueues queues;
    private final Map<ReadRequest, Optional<ReadFailedException>> ended = new LinkedHashMap<>();
    private final Map<ReadRequest, byte[]> contents = new HashMap<>();

    Outcomes(FakeQueues queues) {
        this.queues = queues;
    }

    @Override
    public void succeeded(ReadRequest request) {
        end(request, null);
        byte[] bytes = TestPools.bytes(request.target().memory().slice(0, request.lengthBytes()));
        synchronized (this) {
            contents.put(request, bytes);
        }
        request.target().close();
    }

    @Override
    public void failed(ReadRequest request, ReadFailedException failure) {
        end(request, failure);
    }

    private synchronized void end(ReadRequest request, @Nullable ReadFailedException failure) {
        if (ended.put(request, Optional.ofNullable(failure)) != null) {
            throw new AssertionError("a read ended twice");
        }
        long address =
                request.target().region().memory().address() + request.target().offset();
        List<FakeQueues.Send> writers =
                queues.writersInto(address, request.lengthBytes()).toList();
        if (!writers.isEmpty()) {
            throw new AssertionError("a read ended while these may write into its target: " + writers);
        }
    }

    synchronized int count() {
        return ended.size();
    }

    synchronized int successes() {
        return (int) ended.values().stream().filter(Optional::isEmpty).count();
    }

    synchronized List<ReadFailedException> failures() {
        return ended.values().stream().flatMap(Optional::stream).toList();
    }

    /** Returns how the last one that failed did. */
    synchronized Optional<ReadFailedException> lastFailure() {
        return failures().stream().reduce((before, after) -> after);
    }

    /** Compares read bytes to the source, of which each read has adjacent slices from its offset on. */
    synchronized void verify(ReadRig rig, Map<ReadRequest, Integer> offsets) {
        contents.forEach((request, bytes) ->
                assertThat(bytes).isEqualTo(rig.expected(Objects.requireNonNull(offsets.get(request)), bytes.length)));
    }

    synchronized boolean hasEnded(ReadRequest request) {
        return ended.containsKey(request);
    }
}
