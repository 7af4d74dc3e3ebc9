// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.RdmaCm;
import java.util.List;
import java.util.Set;
import java.util.function.LongFunction;

/**
 * The native functions that verbs objects call; tests replace them.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param verbs libibverbs
 * @param cm librdmacm
 * @param operations the functions in the memory of an {@code ibv_context}, by its address
 */
public record VerbsLibrary(IbVerbs verbs, RdmaCm cm, LongFunction<ContextOps> operations) {
    /** Functions that {@link GidTable} can do without. */
    private static final Set<String> DISPENSABLE = Set.of("_ibv_query_gid_table");

    /**
     * Loads libibverbs and librdmacm. A function is bound when it is first called, by whatever thread: that all are
     * there is found out here.
     *
     * @return the functions, bound once per process
     * @throws RdmaUnavailableException if they are not installed, naming the package to install, or lack functions,
     *     naming those
     */
    public static VerbsLibrary load() throws RdmaUnavailableException {
        try {
            VerbsLibrary library = new VerbsLibrary(IbVerbs.load(), RdmaCm.load(), ContextOps::of);
            requireComplete("libibverbs.so.1", IbVerbs.missing());
            requireComplete("librdmacm.so.1", RdmaCm.missing());
            return library;
        } catch (LinkageError e) {
            throw new RdmaUnavailableException(
                    "libibverbs.so.1 and librdmacm.so.1 cannot be loaded; install rdma-core (Debian: librdmacm1"
                            + " ibverbs-providers)",
                    e);
        }
    }

    /** Throws if a library lacks functions that are called. */
    static void requireComplete(String soname, List<String> missing) throws RdmaUnavailableException {
        List<String> needed = missing.stream()
                .filter(function -> !DISPENSABLE.contains(function))
                .toList();
        if (!needed.isEmpty()) {
            throw new RdmaUnavailableException(
                    soname + " lacks " + String.join(", ", needed) + "; install rdma-core 23 or newer");
        }
    }
}
