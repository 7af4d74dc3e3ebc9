// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.RdmaCm;
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
    /**
     * Loads libibverbs and librdmacm.
     *
     * @return the functions, bound once per process
     * @throws RdmaUnavailableException if they are not installed, naming the package to install
     */
    public static VerbsLibrary load() throws RdmaUnavailableException {
        try {
            return new VerbsLibrary(IbVerbs.load(), RdmaCm.load(), ContextOps::of);
        } catch (LinkageError e) {
            throw new RdmaUnavailableException(
                    "libibverbs.so.1 and librdmacm.so.1 cannot be loaded; install rdma-core (Debian: librdmacm1"
                            + " ibverbs-providers)",
                    e);
        }
    }
}
