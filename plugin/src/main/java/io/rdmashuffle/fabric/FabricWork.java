// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

/**
 * Work of a fabric's reads since it was opened. A fabric without a device has no such cost.
 *
 * @param reads pieces of the peers' memory that a device was told to read
 * @param doorbells calls by which it was told, each with one or more of them
 * @param completions that it reported, of reads and of messages
 * @param wakeUps how often a thread that waited for them was woken
 * @param lanes threads that have told a device to read at all
 */
public record FabricWork(long reads, long doorbells, long completions, long wakeUps, long lanes) {
    /** No work. */
    public static final FabricWork NONE = new FabricWork(0, 0, 0, 0, 0);

    /** Returns the sum. */
    public FabricWork plus(FabricWork more) {
        return new FabricWork(
                reads + more.reads,
                doorbells + more.doorbells,
                completions + more.completions,
                wakeUps + more.wakeUps,
                lanes + more.lanes);
    }
}
