// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

/**
 * Settings of the growth of disk tier files.
 *
 * @param growthBytes unit in which a file reserves blocks
 * @param minFreeBytes what growth leaves free in a file system
 * @param files files in each directory, at most {@link DiskTier#MAX_FILES}
 */
public record DiskSettings(long growthBytes, long minFreeBytes, int files) {}
