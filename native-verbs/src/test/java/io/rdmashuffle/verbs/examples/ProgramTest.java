// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Both programs up to where they would touch a device. */
@Tag("unit")
class ProgramTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    private int run(Program program, String... words) {
        return program.run(
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                words);
    }

    @Test
    void helpNamesEveryOptionOfItsProgram() {
        for (Program program : new Program[] {Pingpong.PROGRAM, Bandwidth.PROGRAM}) {
            out.reset();
            assertThat(run(program, "--help")).isEqualTo(Program.OK);
            String help = out.toString(StandardCharsets.UTF_8);
            assertThat(help).startsWith("Usage: java -cp JARS io.rdmashuffle.verbs.examples." + program.name());
            assertThat(help.lines())
                    .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(120));
            program.options().forEach(option -> assertThat(help).contains("\n  " + option.word() + " "));
            assertThat(err.size()).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--sizes 1 | Pingpong: unknown option --sizes; there are: --listen --device --connect --size",
                "--size 4096 | Pingpong: --size means nothing on a server of --connect cm: its client tells it",
                "--skip 1 --connect socket | Pingpong: --skip means nothing on a server: the client measures",
                "host --listen 10.0.0.1 | Pingpong: --listen means nothing on a client",
                "host --mtu 1024 | Pingpong: --mtu means nothing without --connect socket",
                "host --connect socket --mtu 1500 | Pingpong: --mtu 1500: must be one of 1024, 256, 512",
                "host --iterations 5 --skip 5 | Pingpong: --skip 5: must be a whole number from 0 to 4",
                "host --connect tcp | Pingpong: --connect tcp: must be one of cm, socket",
            })
    void commandLinesOfPingpongThatMakeNoSense(String line, String message) {
        assertThat(run(Pingpong.PROGRAM, line.split(" ", -1))).isEqualTo(Program.MISUSED);
        assertThat(err.toString(StandardCharsets.UTF_8)).startsWith(message).endsWith("; --help explains\n");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--connect socket host | Bandwidth: unknown option --connect; there are: --listen --device --operation",
                "--depth 4 | Bandwidth: --depth means nothing on a server: its client tells it",
                "host --operation erase | Bandwidth: --operation erase: must be one of read, write, send",
                "host --size 1m --depth 1025 | Bandwidth: --size times --depth is 1074790400: must be at most",
                "host --depth 0 | Bandwidth: --depth 0: must be a whole number from 1 to 4096",
            })
    void commandLinesOfBandwidthThatMakeNoSense(String line, String message) {
        assertThat(run(Bandwidth.PROGRAM, line.split(" ", -1))).isEqualTo(Program.MISUSED);
        assertThat(err.toString(StandardCharsets.UTF_8)).startsWith(message).endsWith("; --help explains\n");
    }
}
