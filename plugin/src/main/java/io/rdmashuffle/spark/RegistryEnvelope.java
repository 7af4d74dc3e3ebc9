// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import java.io.Serializable;
import java.util.Objects;
import org.apache.spark.rpc.RpcEndpointRef;
import org.jspecify.annotations.Nullable;

/**
 * A registry message on Spark's RPC, which brings authentication and encryption.
 *
 * @param payload a message as {@code RegistryCodec} wrote it
 * @param replyTo where the driver can push to the sender; only announcements have it
 */
@SuppressWarnings("ArrayRecordComponent")
record RegistryEnvelope(byte[] payload, @Nullable RpcEndpointRef replyTo) implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Also called for an envelope that comes over the wire. */
    RegistryEnvelope {
        Objects.requireNonNull(payload, "an envelope without a payload");
    }
}
