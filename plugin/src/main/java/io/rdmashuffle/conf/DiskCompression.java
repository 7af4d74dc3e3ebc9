// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

/** Compression of direct map outputs in the disk tier. */
public enum DiskCompression {
    /** Those for which the disk takes longer than compressing them. */
    AUTO,
    ALWAYS,
    NEVER
}
