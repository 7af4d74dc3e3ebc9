// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Secret of an application's members; never printed.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class Secret {
    /** Peers need not prove anything. */
    public static final Secret NONE = new Secret(new byte[0]);

    private static final String ALGORITHM = "HmacSHA256";

    private final byte[] key;

    private Secret(byte[] key) {
        this.key = key;
    }

    /** Wraps a key, at least one byte. */
    public static Secret of(byte[] key) {
        if (key.length == 0) {
            throw new IllegalArgumentException("an empty secret proves nothing");
        }
        return new Secret(key.clone());
    }

    /** Returns whether peers must prove anything. */
    public boolean isRequired() {
        return key.length > 0;
    }

    /** Returns the HMAC-SHA256 of the parts one after another; 32 zeros without a key. */
    public byte[] proof(byte[]... parts) {
        if (key.length == 0) {
            return new byte[32];
        }
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(key, ALGORITHM));
            for (byte[] part : parts) {
                mac.update(part);
            }
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(ALGORITHM + " is missing", e);
        }
    }

    @Override
    public String toString() {
        return isRequired() ? "secret" : "none";
    }
}
