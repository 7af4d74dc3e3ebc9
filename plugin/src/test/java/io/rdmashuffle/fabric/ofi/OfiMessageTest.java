// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class OfiMessageTest {
    private static final List<OfiMessage> MESSAGES = List.of(
            new OfiMessage.Query(7, -1, Long.MIN_VALUE, 12, OfiAddress.Endpoint.of(2, new byte[192])),
            new OfiMessage.Answer(8, OfiMessage.Status.READABLE, 3, 0x7f00_0000_1000L, 1L << 30, -9),
            new OfiMessage.Answer(9, OfiMessage.Status.REVOKED, 3, 0, 0, 0));

    private static byte[] encoded(OfiMessage message) {
        ByteBuffer out = ByteBuffer.allocate(OfiMessage.MAX_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        message.encode(out);
        return Arrays.copyOf(out.array(), out.position());
    }

    @Test
    void messagesAreReadAsTheyWereWritten() throws Exception {
        for (OfiMessage message : MESSAGES) {
            assertThat(OfiMessage.decode(ByteBuffer.wrap(encoded(message)))).isEqualTo(message);
        }
    }

    @Test
    void whateverAPeerSendsIsAMessageOrIsRefused() {
        try (FuzzRun run = new FuzzRun("libfabric message", PeerUnreachableException.class)) {
            for (OfiMessage message : MESSAGES) {
                new Mutations(run.random())
                        .all(
                                encoded(message),
                                run.times(2000),
                                input -> run.attempt(input, () -> {
                                    OfiMessage unused = OfiMessage.decode(ByteBuffer.wrap(input));
                                    return true;
                                }));
            }
        }
    }
}
