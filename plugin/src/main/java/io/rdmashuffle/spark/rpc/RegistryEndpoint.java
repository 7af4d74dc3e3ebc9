// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.rpc;

import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryCodecException;
import io.rdmashuffle.registry.RegistryMessage;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.ThreadSafeRpcEndpoint;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.MatchError;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Carries registry messages between Spark's RPC and their handler, on driver and executor alike.
 *
 * <p><b>Threading:</b> Spark delivers one message at a time; answers may come from any thread.
 */
public final class RegistryEndpoint implements ThreadSafeRpcEndpoint {
    /** Name of the driver's endpoint. */
    public static final String DRIVER = "rdma-shuffle-registry";

    private static final Logger LOG = LoggerFactory.getLogger(RegistryEndpoint.class);

    private final RpcEnv rpcEnv;
    private final RegistryCodec codec;
    private final Handler handler;

    /**
     * Creates an endpoint; the caller sets it up in the environment.
     *
     * @param handler understands the messages
     */
    public RegistryEndpoint(RpcEnv rpcEnv, RegistryCodec codec, Handler handler) {
        this.rpcEnv = rpcEnv;
        this.codec = codec;
        this.handler = handler;
    }

    @Override
    public RpcEnv rpcEnv() {
        return rpcEnv;
    }

    @Override
    public PartialFunction<Object, BoxedUnit> receive() {
        return new Envelopes(envelope -> {
            try {
                if (handler.handle(codec.decode(envelope.payload()), envelope.replyTo()) != null) {
                    LOG.debug("Dropping the answer to a one-way registry message");
                }
            } catch (RegistryCodecException e) {
                LOG.warn("Dropping a malformed registry message", e);
            } catch (RejectedExecutionException e) {
                LOG.debug("Dropping a registry message", e);
            }
        });
    }

    @Override
    public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
        return new Envelopes(envelope -> {
            try {
                RegistryMessage question = codec.decode(envelope.payload());
                CompletableFuture<RegistryMessage> later = handler.begin(question);
                if (later == null) {
                    reply(context, handler.handle(question, envelope.replyTo()));
                } else {
                    var unused = later.thenAccept(answer -> reply(context, answer));
                }
            } catch (RegistryCodecException | RejectedExecutionException e) {
                context.sendFailure(portable(e));
            } catch (RuntimeException e) {
                LOG.warn("Unexpected error while answering a registry message", e);
                context.sendFailure(portable(e));
            }
        });
    }

    private void reply(RpcCallContext context, @Nullable RegistryMessage answer) {
        if (answer == null) {
            context.sendFailure(new IllegalArgumentException("this endpoint does not answer such messages"));
        } else {
            context.reply(new RegistryEnvelope(codec.encode(answer), null).toWire());
        }
    }

    /**
     * Returns a failure that any class loader of the sender can deserialize: an exception of this jar, as such or as a
     * cause, would end the connection there instead of the one question.
     */
    private static IllegalStateException portable(RuntimeException failure) {
        return new IllegalStateException("the registry cannot answer: " + failure);
    }

    /** Understands messages. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Handles a message and, with announcements, the way back; returns the answer, or null if there is none.
         *
         * @throws RejectedExecutionException if there is no room for the message; the sender hears it
         */
        @Nullable
        RegistryMessage handle(RegistryMessage message, @Nullable RpcEndpointRef replyTo);

        /**
         * Begins to handle a question that takes long, so that other messages need not wait.
         *
         * @return the answer, which never fails; null if it does not take long, and {@link #handle} has to answer
         */
        default @Nullable CompletableFuture<RegistryMessage> begin(RegistryMessage question) {
            return null;
        }
    }

    /** Handler of envelopes only. */
    private static final class Envelopes extends AbstractPartialFunction<Object, BoxedUnit> {
        private static final long serialVersionUID = 1L;

        private final transient Consumer<RegistryEnvelope> consumer;

        Envelopes(Consumer<RegistryEnvelope> consumer) {
            this.consumer = consumer;
        }

        @Override
        public boolean isDefinedAt(Object message) {
            return RegistryEnvelope.fromWire(message) != null;
        }

        @Override
        public BoxedUnit apply(Object message) {
            RegistryEnvelope envelope = RegistryEnvelope.fromWire(message);
            if (envelope == null) {
                throw new MatchError(message);
            }
            consumer.accept(envelope);
            return BoxedUnit.UNIT;
        }
    }
}
