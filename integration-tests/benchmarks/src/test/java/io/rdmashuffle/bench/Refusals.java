// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** Refused options of benchmarks, for their tests. */
public final class Refusals {
    private Refusals() {}

    /** Runs a command with invalid arguments, and returns its message. */
    public static String of(CommandLine command, String... arguments) {
        StringWriter err = new StringWriter();
        command.setErr(new PrintWriter(err));
        assertThat(command.execute(arguments)).isEqualTo(2);
        return err.toString();
    }
}
