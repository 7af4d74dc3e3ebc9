// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

/** What the pool asks of the kernel about the page size of its regions. */
public enum Hugepages {
    /** Nothing: the mount of the pool's directory decides. */
    OFF,
    /** {@code madvise(MADV_HUGEPAGE)} on every region, where its mount gives huge pages to those who ask. */
    ADVISE
}
