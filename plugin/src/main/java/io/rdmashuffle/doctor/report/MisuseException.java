// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.report;

/** A command line that makes no sense; the message names the option and what it may be. */
public final class MisuseException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Takes the message. */
    public MisuseException(String message) {
        super(message);
    }

    /** Takes the message, and what came before it. */
    public MisuseException(String message, Throwable cause) {
        super(message, cause);
    }
}
