// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of damaged private data of a connection: altered bytes prove nothing. */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HandshakeFuzzTest {
    private static final Secret SECRET = Secret.of(new byte[] {1, 2, 3, 4});
    private static final Secret OTHER = Secret.of(new byte[] {1, 2, 3, 5});
    private static final ConnectionEnds ENDS = ends("192.0.2.1", "2001:db8::1", 17);
    private static final int REQUEST_BYTES = 56;
    private static final int ANSWER_BYTES = 36;

    private static ConnectionEnds ends(String client, String server, int queuePair) {
        return new ConnectionEnds(
                new InetSocketAddress(client, 0).getAddress(),
                new InetSocketAddress(server, 0).getAddress(),
                queuePair);
    }

    /** Recorded messages are useless from another host, to another host, or on another queue pair. */
    @Test
    void aProofIsForOneConnection() {
        Handshake request = Handshake.request(11, 22, 3, SECRET, ENDS);
        byte[] answer = request.answer(SECRET, ENDS);
        assertThat(request.isAnsweredBy(answer, SECRET, ENDS)).isTrue();
        for (ConnectionEnds other : List.of(
                ends("192.0.2.2", "2001:db8::1", 17),
                ends("192.0.2.1", "2001:db8::2", 17),
                ends("192.0.2.1", "2001:db8::1", 18),
                ends("2001:db8::1", "192.0.2.1", 17))) {
            assertThat(request.isProven(SECRET, other)).as("request: %s", other).isFalse();
            assertThat(request.isAnsweredBy(answer, SECRET, other))
                    .as("answer: %s", other)
                    .isFalse();
        }
    }

    @Test
    void noDamagedRequestIsProven() {
        try (FuzzRun run = new FuzzRun("handshake request, with a secret")) {
            Handshake request = Handshake.request(11, 22, 3, SECRET, ENDS);
            byte[] valid = request.encoded();
            assertThat(request.isProven(SECRET, ENDS)).isTrue();
            assertThat(request.isProven(OTHER, ENDS)).isFalse();
            assertThat(request.isProven(Secret.NONE, ENDS)).isFalse();
            Mutations mutations = new Mutations(run.random());
            mutations.all(
                    valid,
                    run.times(1000),
                    input -> run.attempt(input, () -> {
                        Handshake read = Handshake.read(input);
                        boolean proven = read != null && read.isProven(SECRET, ENDS);
                        assertThat(proven)
                                .as("only the bytes as they were written, and padding behind them")
                                .isEqualTo(startsWith(input, valid, REQUEST_BYTES));
                        return proven;
                    }));
        }
    }

    @Test
    void withoutASecretARequestIsReadAsItIsOrNotAtAll() {
        try (FuzzRun run = new FuzzRun("handshake request, without a secret")) {
            byte[] valid = Handshake.request(11, 22, 3, Secret.NONE, ENDS).encoded();
            assertThat(Handshake.request(11, 22, 3, Secret.NONE, ENDS).isProven(SECRET, ENDS))
                    .as("a peer without the secret")
                    .isFalse();
            Mutations mutations = new Mutations(run.random());
            mutations.all(
                    valid,
                    run.times(1000),
                    input -> run.attempt(input, () -> {
                        Handshake read = Handshake.read(input);
                        if (read == null) {
                            return false;
                        }
                        assertThat(read.encoded()).isEqualTo(Arrays.copyOf(input, REQUEST_BYTES));
                        assertThat(read.nonce().remaining()).isEqualTo(16);
                        assertThat(read.isAnsweredBy(read.answer(Secret.NONE, ENDS), Secret.NONE, ENDS))
                                .isTrue();
                        return true;
                    }));
        }
    }

    @Test
    void noDamagedAnswerIsBelieved() {
        try (FuzzRun run = new FuzzRun("handshake answer, with a secret")) {
            Handshake request = Handshake.request(11, 22, 3, SECRET, ENDS);
            byte[] valid = request.answer(SECRET, ENDS);
            assertThat(Handshake.request(11, 22, 3, SECRET, ENDS).isAnsweredBy(valid, SECRET, ENDS))
                    .as("the answer to another request")
                    .isFalse();
            assertThat(request.isAnsweredBy(request.encoded(), SECRET, ENDS))
                    .as("the request itself, sent back")
                    .isFalse();
            assertThat(request.isAnsweredBy(request.answer(OTHER, ENDS), SECRET, ENDS))
                    .isFalse();
            assertThat(request.isAnsweredBy(request.answer(Secret.NONE, ENDS), SECRET, ENDS))
                    .isFalse();
            Mutations mutations = new Mutations(run.random());
            mutations.all(
                    valid,
                    run.times(1000),
                    input -> run.attempt(input, () -> {
                        boolean believed = request.isAnsweredBy(input, SECRET, ENDS);
                        assertThat(believed).isEqualTo(startsWith(input, valid, ANSWER_BYTES));
                        return believed;
                    }));
        }
    }

    @Test
    void everyRefusalHasAMeaning() {
        try (FuzzRun run = new FuzzRun("handshake refusal")) {
            Mutations mutations = new Mutations(run.random());
            for (Handshake.Refusal refusal : Handshake.Refusal.values()) {
                byte[] valid = Handshake.refusal(refusal);
                assertThat(Handshake.meaningOf(valid)).isEqualTo(refusal.meaning());
                mutations.all(
                        valid,
                        run.times(100),
                        input -> run.attempt(input, () -> {
                            assertThat(Handshake.meaningOf(input)).isNotBlank();
                            return true;
                        }));
            }
        }
    }

    private static boolean startsWith(byte[] input, byte[] valid, int length) {
        return input.length >= length && Arrays.equals(input, 0, length, valid, 0, length);
    }
}
