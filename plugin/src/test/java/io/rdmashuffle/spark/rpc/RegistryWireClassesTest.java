// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.apache.spark.SparkConf;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcTimeout;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.concurrent.Future;
import scala.concurrent.Promise$;
import scala.reflect.ClassTag;

/**
 * Every object handed to Spark's RPC, as the other side's RPC thread reads it: with Spark's class loader, which does
 * not know a jar added with {@code --jars}.
 */
@Tag("unit")
class RegistryWireClassesTest {
    private final RegistryCodec codec = new RegistryCodec();

    @Test
    void questionsHoldNoClassOfThisJar() throws Exception {
        RecordingRef driver = new RecordingRef();

        Duration timeout = Duration.ofSeconds(1);
        List<Future<byte[]>> asked = List.of(
                RegistryAsk.start(driver, codec.encode(new Lookup("7")), new RecordingRef(), timeout),
                RegistryAsk.start(driver, codec.encode(new Lookup("7")), null, timeout),
                RegistryAsk.start(driver, new byte[] {1, 2}, null, timeout));
        driver.send(new RegistryEnvelope(new byte[] {3}, null).toWire());

        assertThat(asked).hasSize(3);
        assertThat(driver.sent).hasSize(4);
        for (Object sent : driver.sent) {
            assertThat(RegistryEnvelope.fromWire(asSparkReads(sent))).isNotNull();
        }
    }

    @Test
    void answersHoldNoClassOfThisJar() throws Exception {
        Object answer = answerOf((message, replyTo) -> new Taken(), codec.encode(new Lookup("7")));

        assertThat(codec.decode((byte[]) asSparkReads(answer))).isInstanceOf(Taken.class);
    }

    @ParameterizedTest
    @MethodSource("failures")
    void failuresHoldNoClassOfThisJar(RuntimeException failure) throws Exception {
        Object answer = answerOf(
                (message, replyTo) -> {
                    throw failure;
                },
                codec.encode(new Lookup("7")));

        assertThat((Throwable) asSparkReads(answer)).hasMessageContaining(failure.getMessage());
    }

    static List<RuntimeException> failures() {
        return List.of(
                new RejectedExecutionException("queue full", new OfThisJar("cause")), new OfThisJar("unexpected"));
    }

    @Test
    void anAnswerThatTakesLongComesLater() throws Exception {
        CompletableFuture<RegistryMessage> later = new CompletableFuture<>();
        Answer answer = ask(
                new RegistryEndpoint.Handler() {
                    @Override
                    public @Nullable RegistryMessage handle(RegistryMessage message, @Nullable RpcEndpointRef replyTo) {
                        throw new AssertionError("it has begun");
                    }

                    @Override
                    public CompletableFuture<RegistryMessage> begin(RegistryMessage question) {
                        return later;
                    }
                },
                codec.encode(new Lookup("7")));
        assertThat(answer.objects).isEmpty();
        later.complete(new Taken());
        assertThat(answer.objects).hasSize(1);
        assertThat(codec.decode((byte[]) asSparkReads(answer.objects.get(0)))).isInstanceOf(Taken.class);
    }

    @Test
    void malformedQuestionFailsWithoutClassOfThisJar() throws Exception {
        Object answer = answerOf((message, replyTo) -> new Taken(), new byte[] {9, 9, 9});

        assertThat((Throwable) asSparkReads(answer)).hasMessageContaining("RegistryCodecException");
    }

    @Test
    void sparksClassLoaderRefusesClassesOfThisJar() {
        assertThatThrownBy(() -> asSparkReads(new OfThisJar("as a control")))
                .isInstanceOf(ClassNotFoundException.class);
    }

    private static final class OfThisJar extends RuntimeException {
        private static final long serialVersionUID = 1L;

        OfThisJar(String message) {
            super(message);
        }
    }

    private Object answerOf(RegistryEndpoint.Handler handler, byte[] question) {
        Answer answer = ask(handler, question);
        assertThat(answer.objects).hasSize(1);
        return answer.objects.get(0);
    }

    @SuppressWarnings("NullAway") // hands messages over without its environment
    private Answer ask(RegistryEndpoint.Handler handler, byte[] question) {
        Answer answer = new Answer();
        new RegistryEndpoint(null, codec, handler)
                .receiveAndReply(answer)
                .apply(new RegistryEnvelope(question, null).toWire());
        return answer;
    }

    private static Object asSparkReads(Object sent) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(sent);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())) {
            @Override
            protected Class<?> resolveClass(ObjectStreamClass type) throws IOException, ClassNotFoundException {
                String name = type.getName();
                // The test's own endpoint stands for Spark's.
                if (name.contains("io.rdmashuffle.") && !name.equals(RecordingRef.class.getName())) {
                    throw new ClassNotFoundException(name);
                }
                return super.resolveClass(type);
            }
        }) {
            return in.readObject();
        }
    }

    private static final class Answer implements RpcCallContext {
        private final List<Object> objects = new ArrayList<>();

        @Override
        public void reply(Object response) {
            objects.add(response);
        }

        @Override
        public void sendFailure(Throwable e) {
            objects.add(e);
        }

        @Override
        public RpcAddress senderAddress() {
            return new RpcAddress("localhost", 1);
        }
    }

    /** Endpoint that records messages. */
    private static final class RecordingRef extends RpcEndpointRef {
        private static final long serialVersionUID = 1L;

        private final transient List<Object> sent = new ArrayList<>();

        RecordingRef() {
            super(new SparkConf(false));
        }

        @Override
        public RpcAddress address() {
            return new RpcAddress("localhost", 1);
        }

        @Override
        public String name() {
            return "test";
        }

        @Override
        public void send(Object message) {
            sent.add(message);
        }

        @Override
        @SuppressWarnings("unchecked")
        public <T> Future<T> ask(Object message, RpcTimeout timeout, ClassTag<T> type) {
            sent.add(message);
            return (Future<T>) Promise$.MODULE$.apply().future();
        }
    }
}
