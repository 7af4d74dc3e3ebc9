// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

/**
 * Receiver of region events: before the first lease of a region, so that it can be registered with a device, and after
 * the last one, if the open pool releases the region.
 *
 * <p><b>Threading:</b> called by one thread at a time.
 */
@FunctionalInterface
public interface RegionListener {
    /** Called once per region, on the thread that creates the pool or one of its own. */
    void regionAdded(Region region);

    /**
     * Called at most once for a region that was added, before it is unmapped. When this returns, nothing reads or
     * writes the region any more through what the listener made of it, unless that holds a reference
     * ({@link Region#shared}), which keeps it mapped. No other region ever has its id.
     *
     * @throws RuntimeException if that cannot be said; then the region stays mapped
     */
    default void regionRemoved(Region region) {}
}
