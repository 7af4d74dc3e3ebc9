// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

/** Told of each region before the first lease from it, so that it can be registered with a device. */
@FunctionalInterface
public interface RegionListener {
    /** Called once per region, never concurrently, on the thread that creates the pool or one of its own. */
    void regionAdded(Region region);
}
