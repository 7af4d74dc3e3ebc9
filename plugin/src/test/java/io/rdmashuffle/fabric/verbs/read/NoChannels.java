// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

/** For reads that never reach a channel. */
final class NoChannels implements PendingRead.Channels {
    @Override
    public void add(PendingRead read, int lane) {
        throw new AssertionError("no channel");
    }

    @Override
    public void submitAfter(PendingRead read, int failedLane) {
        throw new AssertionError("no channel");
    }
}
