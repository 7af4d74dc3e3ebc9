// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.ProtectionDomain;

/**
 * Operations that a device supports, with their limits.
 *
 * @param domain whose regions they may name
 * @param deviceName for messages
 * @param maxPieces pieces of local memory in one request
 * @param maxPiecesOfRead the same of a READ, 1 on many iWARP devices
 * @param atomics whether the device has atomics
 */
record DeviceAbilities(
        ProtectionDomain domain, String deviceName, int maxPieces, int maxPiecesOfRead, boolean atomics) {}
