// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import java.util.OptionalInt;

/**
 * Settings of a rail's device.
 *
 * @param onDemandPaging whether regions are registered without pinning, where the device can do that
 * @param relaxedOrdering whether the device is asked to let its accesses pass one another on the bus
 * @param completionVector the completion vector of the first queue; empty if any will do
 */
public record RailSettings(boolean onDemandPaging, boolean relaxedOrdering, OptionalInt completionVector) {
    /** Settings that suit every device. */
    public static final RailSettings DEFAULT = new RailSettings(false, true, OptionalInt.empty());
}
