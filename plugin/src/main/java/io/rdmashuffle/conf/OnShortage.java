// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

/** Behaviour of an executor if the host cannot hold the pool. */
public enum OnShortage {
    /** Starts with the pool that can be had. */
    SHRINK,
    /** Refuses to start. */
    FAIL
}
