// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

/** A command line that makes no sense; the message names the option and what it may be. */
final class MisuseException extends Exception {
    private static final long serialVersionUID = 1L;

    MisuseException(String message) {
        super(message);
    }
}
