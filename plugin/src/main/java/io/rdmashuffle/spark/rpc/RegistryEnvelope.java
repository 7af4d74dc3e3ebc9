// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.rpc;

import org.apache.spark.rpc.RpcEndpointRef;
import org.jspecify.annotations.Nullable;
import scala.Tuple2;

/**
 * Registry message on Spark's RPC, which authenticates and encrypts it.
 *
 * <p>On the wire it is a {@code byte[]}, or a {@link Tuple2} of one and an {@link RpcEndpointRef}: Spark's RPC threads
 * deserialize with a class loader that does not know jars added with {@code --jars}, so no class of this jar may be
 * part of a message, an answer or a failure.
 *
 * @param payload a message as {@code RegistryCodec} encodes it
 * @param replyTo endpoint to which the driver pushes updates; null except in questions of executors
 */
@SuppressWarnings("ArrayRecordComponent")
public record RegistryEnvelope(byte[] payload, @Nullable RpcEndpointRef replyTo) {
    /** Returns the object that Spark serializes: JDK, Scala and Spark classes only. */
    public Object toWire() {
        return replyTo == null ? payload : new Tuple2<>(payload, replyTo);
    }

    /** Returns the envelope that a received object stands for, or null for any other object. */
    static @Nullable RegistryEnvelope fromWire(Object received) {
        if (received instanceof byte[] payload) {
            return new RegistryEnvelope(payload, null);
        }
        return received instanceof Tuple2<?, ?> pair
                        && pair._1() instanceof byte[] payload
                        && pair._2() instanceof RpcEndpointRef replyTo
                ? new RegistryEnvelope(payload, replyTo)
                : null;
    }
}
