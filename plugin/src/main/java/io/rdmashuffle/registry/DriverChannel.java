// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.time.Duration;

/**
 * An executor's way to ask the driver.
 *
 * <p><b>Threading:</b> called by any thread, several at once.
 */
@FunctionalInterface
public interface DriverChannel {
    /**
     * Sends a message and waits for its answer.
     *
     * @param timeout how long at most; an implementation must return or throw by then
     * @throws RegistryUnavailableException if there is no answer in time, or the thread is interrupted; its interrupt
     *     status must then be set
     */
    RegistryMessage ask(RegistryMessage request, Duration timeout) throws RegistryUnavailableException;
}
