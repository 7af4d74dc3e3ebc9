// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.SendRequests;

/**
 * A checked operation with what the device gets for it.
 *
 * @param operation for the connection's table
 * @param work puts the request into a chain
 * @param <T> what success brings
 */
record Request<T>(Operation<T> operation, Work work) {
    /** Puts a request into a chain; runs under the connection's lock, with the operation's regions kept open. */
    interface Work {
        void add(SendRequests chain, long workRequestId, int slot);
    }
}
