// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.QueuePair;

/**
 * A connected queue pair that its listener may read through.
 *
 * <p><b>Ownership:</b> of the {@link ConnectionListener} that it was given to, which closes {@code pair} and then hands
 * this to {@link ConnectionService#closeIdentity}.
 *
 * @param rail this side's port
 * @param id the connection
 * @param pair the queue pair, ready to send
 * @param slot registered memory for control messages
 * @param depth how many requests may be outstanding, a power of two, not more than the queue pair allows
 * @param maxReadBytes longest single READ
 */
public record EstablishedPair(
        Rail rail, CmId id, QueuePair pair, ControlMemory.Slot slot, int depth, int maxReadBytes) {}
