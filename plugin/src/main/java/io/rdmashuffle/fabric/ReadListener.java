// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

/** Learns how requests end: one call for each. Must be quick and must not throw. */
public interface ReadListener {
    /** The bytes are in the request's target, which now belongs to the listener. */
    void succeeded(ReadRequest request);

    /** The bytes did not arrive; the fabric keeps the target. */
    void failed(ReadRequest request, ReadFailedException failure);
}
