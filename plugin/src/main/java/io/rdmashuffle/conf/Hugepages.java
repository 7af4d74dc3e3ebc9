// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

/** Request to the kernel for the page size of regions. */
public enum Hugepages {
    /** Nothing: the mount of the pool's directory decides. */
    OFF,
    /** {@code madvise(MADV_HUGEPAGE)} on every region, where its mount gives huge pages to those who ask. */
    ADVISE
}
