// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.VerbsLibrary;
import io.rdmashuffle.verbs.WaitSet;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The events of the connection manager, waited for one after another.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns the channel, and with it the ids on it.
 */
final class ManagerEvents implements AutoCloseable {
    private final EventChannel channel;
    private final WaitSet waits = new WaitSet(1);

    ManagerEvents(VerbsLibrary library) {
        this.channel = EventChannel.open(library);
        waits.add(channel.fileDescriptor());
    }

    EventChannel channel() {
        return channel;
    }

    /** Returns the next event, null if there is none now. */
    @Nullable
    CmEvent next() {
        return channel.nextEvent();
    }

    /**
     * Waits for an event.
     *
     * @param during the current step, for messages
     * @throws IOException if another one comes, or none in time
     */
    CmEvent await(CmEvent.Type type, Duration timeout, String during) throws IOException {
        return awaitUntil(
                System.nanoTime() + timeout.toNanos(),
                type,
                during,
                during + ": no " + type + " within " + timeout.toSeconds() + " s");
    }

    /**
     * Waits for an event, as {@link #await}.
     *
     * @param deadline in {@link System#nanoTime()}
     * @param late says that nothing came until then
     */
    CmEvent awaitUntil(long deadline, CmEvent.Type type, String during, String late) throws IOException {
        CmEvent event = next();
        while (event == null) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw new IOException(late);
            }
            waits.await(left);
            event = next();
        }
        if (event.type() != type) {
            throw new IOException(during + ": " + describe(event));
        }
        return event;
    }

    /** A refusal has the reason as private data, with what a terminal should not see: any peer may have sent it. */
    private static String describe(CmEvent event) {
        String reason = event.type() == CmEvent.Type.REJECTED
                ? new String(event.privateData(), StandardCharsets.UTF_8)
                        .replaceAll("\0+$", "")
                        .replaceAll("\\p{Cntrl}", "?")
                : "";
        return reason.isEmpty() ? event.describe() : "the peer refused: " + reason;
    }

    @Override
    public void close() {
        waits.close();
        channel.close();
    }
}
