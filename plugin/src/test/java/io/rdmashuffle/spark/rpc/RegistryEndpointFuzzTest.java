// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryServer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcCallContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of damaged payloads: the sender gets a failure, and the endpoint continues. */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RegistryEndpointFuzzTest {
    private final RegistryCodec codec = new RegistryCodec();
    private final RegistryServer driver = new RegistryServer(shuffleId -> true, () -> {});

    @Test
    void everyQuestionIsAnsweredOnceWhateverItIs() {
        try (FuzzRun run = new FuzzRun("registry envelope")) {
            RegistryEndpoint endpoint = endpoint();
            byte[] valid = codec.encode(new Lookup("12"));
            Mutations mutations = new Mutations(run.random());
            List<byte[]> inputs = new ArrayList<>(List.of(valid));
            mutations.otherLengths(valid, inputs::add);
            for (int i = 0; i < run.times(100); i++) {
                inputs.add(mutations.atRandom(valid));
                inputs.add(mutations.garbage(64));
            }
            inputs.forEach(input -> run.attempt(input, () -> isAnswered(endpoint, input)));
            assertThat(endpoint.receive().isDefinedAt("something else")).isFalse();
        }
    }

    @SuppressWarnings("NullAway") // it hands messages over without its environment
    private RegistryEndpoint endpoint() {
        return new RegistryEndpoint(null, codec, (message, replyTo) -> driver.handle(message, pushed -> {}));
    }

    private boolean isAnswered(RegistryEndpoint endpoint, byte[] payload) {
        Object envelope = new RegistryEnvelope(payload, null).toWire();
        endpoint.receive().apply(envelope);
        Answer answer = new Answer();
        endpoint.receiveAndReply(answer).apply(envelope);
        assertThat(answer.count).isOne();
        if (answer.failure != null) {
            assertThat(answer.failure)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("RegistryCodecException")
                    .hasMessageMatching("(?s).{10,}");
            return false;
        }
        assertThat(answer.message).isInstanceOf(LookupReply.class);
        return true;
    }

    /** Replies to senders. */
    private final class Answer implements RpcCallContext {
        private int count;
        private @Nullable RegistryMessage message;
        private @Nullable Throwable failure;

        @Override
        public void reply(Object response) {
            count++;
            message = codec.decode((byte[]) response);
        }

        @Override
        public void sendFailure(Throwable e) {
            count++;
            failure = e;
        }

        @Override
        public RpcAddress senderAddress() {
            return new RpcAddress("localhost", 1);
        }
    }
}
