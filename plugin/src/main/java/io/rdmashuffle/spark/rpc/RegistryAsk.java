// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.rpc;

import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcTimeout;
import org.jspecify.annotations.Nullable;
import scala.concurrent.Future;
import scala.concurrent.duration.FiniteDuration;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Client of another process's {@link RegistryEndpoint}.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class RegistryAsk {
    private static final ClassTag<byte[]> BYTES = ClassTag$.MODULE$.apply(byte[].class);

    private RegistryAsk() {}

    /** Sends an encoded message and returns at once. */
    public static Future<byte[]> start(
            RpcEndpointRef to, byte[] message, @Nullable RpcEndpointRef replyTo, Duration timeout) {
        return to.ask(new RegistryEnvelope(message, replyTo).toWire(), rpcTimeout(timeout), BYTES);
    }

    /** Waits for the answer; throws what Spark's RPC throws when it is late or the other side is gone. */
    public static RegistryMessage await(Future<byte[]> answer, RegistryCodec codec, Duration timeout) {
        return codec.decode(rpcTimeout(timeout).awaitResult(answer));
    }

    private static RpcTimeout rpcTimeout(Duration timeout) {
        return new RpcTimeout(
                new FiniteDuration(Math.max(1, timeout.toMillis()), TimeUnit.MILLISECONDS),
                "spark.shuffle.rdma.registry.timeout");
    }
}
