// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.verbs.AsyncEvent;

/**
 * Listener of device events of a rail.
 *
 * <p><b>Threading:</b> called on the control thread, which must not block.
 */
public interface RailEvents {
    /** A queue pair is in error, by an event that is about it. */
    void pairFailed(AsyncEvent event);

    /** Nothing on this rail ends any more but by its deadline: the device has failed, or is being removed. */
    void lost(String why);
}
