// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

/**
 * Current load of a fabric, and failures of its reads since it was opened.
 *
 * @param readsInFlight requests that have not ended; those of a fabric without a device are not counted
 * @param bytesInFlight bytes that are being copied
 * @param readsRetried requests that started again on another connection
 * @param readsFailed requests that failed for good
 * @param connections that are open
 * @param connectionsOpened connections that were opened
 * @param connectionsLost connections that were given up after an error or a deadline
 * @param bytesPerSecond bytes that reads bring while any is in flight, of late; 0 if it is not known
 */
public record FabricLoad(
        long readsInFlight,
        long bytesInFlight,
        long readsRetried,
        long readsFailed,
        long connections,
        long connectionsOpened,
        long connectionsLost,
        long bytesPerSecond) {
    /** Nothing. */
    public static final FabricLoad NONE = new FabricLoad(0, 0, 0, 0, 0, 0, 0, 0);

    /** Returns the sum; of the bytes per second, which fabrics of one network share, the higher one. */
    public FabricLoad plus(FabricLoad more) {
        return new FabricLoad(
                readsInFlight + more.readsInFlight,
                bytesInFlight + more.bytesInFlight,
                readsRetried + more.readsRetried,
                readsFailed + more.readsFailed,
                connections + more.connections,
                connectionsOpened + more.connectionsOpened,
                connectionsLost + more.connectionsLost,
                Math.max(bytesPerSecond, more.bytesPerSecond));
    }
}
