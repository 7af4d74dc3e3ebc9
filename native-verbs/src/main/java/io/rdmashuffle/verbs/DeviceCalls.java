// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.RdmaCm;

/**
 * The native functions that objects of one open device call, with the device's name for their messages: all that they
 * need of their context.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Ownership:</b> valid while the context is open; it owns nothing.
 *
 * @param deviceName the kernel's name of the device
 * @param transport the protocol that the device speaks
 * @param verbs libibverbs
 * @param cm librdmacm
 * @param operations the functions that the device's context carries itself
 */
record DeviceCalls(String deviceName, Transport transport, IbVerbs verbs, RdmaCm cm, ContextOps operations) {}
