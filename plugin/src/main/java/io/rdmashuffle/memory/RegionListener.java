// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

/** Told of each region before the first lease from it, so that it can be registered with a device. */
@FunctionalInterface
public interface RegionListener {
    /** Called once per region, never concurrently, on the thread that made the pool grow. */
    void regionAdded(Region region);
}
