// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import java.util.List;

/**
 * A shared library of rdma-core as this process finds it.
 *
 * @param soname {@code libibverbs.so.1}
 * @param file where it lies, whose name tells the version; empty if it cannot be loaded or its place is not known
 * @param missing functions that the shuffle calls and that it lacks
 * @param problem why it cannot be loaded; empty if it can
 */
record LibraryFacts(String soname, String file, List<String> missing, String problem) {}
