// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** Refused options of benchmarks, for their tests. */
public final class Refusals {
    private Refusals() {}

    /** Has a command refuse its arguments, and returns what it says of them. */
    public static String of(CommandLine command, String... arguments) {
        StringWriter err = new StringWriter();
        command.setErr(new PrintWriter(err));
        assertThat(command.execute(arguments)).isEqualTo(2);
        return err.toString();
    }
}
