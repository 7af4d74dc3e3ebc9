// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.report;

/** Signals an invalid command line; the message names the option and its valid values. */
public final class MisuseException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Sets the message. */
    public MisuseException(String message) {
        super(message);
    }

    /** Sets the message, and what came before it. */
    public MisuseException(String message, Throwable cause) {
        super(message, cause);
    }
}
