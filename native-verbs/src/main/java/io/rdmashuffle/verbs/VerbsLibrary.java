package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.RdmaCm;
import java.util.function.LongFunction;

/**
 * The native functions that verbs objects call; tests put others in their place.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param verbs libibverbs
 * @param cm librdmacm
 * @param operations the functions that a device context carries itself, by the context's address
 */
public record VerbsLibrary(IbVerbs verbs, RdmaCm cm, LongFunction<ContextOps> operations) {
    /**
     * Loads libibverbs and librdmacm.
     *
     * @throws RdmaUnavailableException if they are not installed, saying which package brings them
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
