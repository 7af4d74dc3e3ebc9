// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

/**
 * A partition that a port belongs to: on InfiniBand what a VLAN is on Ethernet.
 *
 * <p><b>Source:</b> ibv_query_pkey(3).
 *
 * @param port counts from 1
 * @param index row of the port's table, which queue pairs name it by
 * @param key 16 bits in native order; 0xffff is full membership of the default partition
 */
public record PartitionKey(int port, int index, int key) {
    private static final int FULL_MEMBER = 0x8000;

    /** {@return whether the port talks to all members; if not, it talks to full members only} */
    public boolean isFullMember() {
        return (key & FULL_MEMBER) != 0;
    }

    @Override
    public String toString() {
        return "partition key 0x" + Integer.toHexString(key) + " (port " + port + ", index " + index + ")";
    }
}
