// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

/**
 * How fast READs were that a process made from itself over the device.
 *
 * @param medianNanos of a READ of {@value #SMALL_BYTES} bytes, one at a time
 * @param bytesPerSecond of READs of {@value #LARGE_BYTES} bytes, {@value #DEPTH} at a time
 */
record ReadFigures(long medianNanos, double bytesPerSecond) {
    static final int SMALL_BYTES = 4 << 10;
    static final int LARGE_BYTES = 256 << 10;
    static final int DEPTH = 4;
}
