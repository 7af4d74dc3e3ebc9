// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.TypeConversionException;

/** Both programs up to where they would touch a device. */
@Tag("unit")
class ProgramTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(Program program, String line) {
        return program.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(line.split(" ", -1));
    }

    @Test
    void helpNamesEveryOptionOfItsProgram() {
        for (Program program : List.of(new Pingpong(), new Bandwidth())) {
            out.getBuffer().setLength(0);
            assertThat(run(program, "--help")).isEqualTo(ExitCode.OK);
            CommandLine command = program.commandLine();
            assertThat(out.toString())
                    .startsWith("Usage: java -cp JARS io.rdmashuffle.verbs.examples." + command.getCommandName());
            assertThat(out.toString().lines())
                    .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(120));
            command.getCommandSpec()
                    .options()
                    .forEach(option -> assertThat(out.toString()).containsPattern("\n +" + option.longestName()));
            assertThat(err.toString()).isEmpty();
        }
    }

    @Test
    void valuesFollowTheirOptionOrAnEqualsSign() {
        Pingpong program = new Pingpong();
        program.commandLine().parseArgs("--device", "rxe0", "10.77.0.1:4791", "--timeout=3");
        assertThat(program.device()).isEqualTo("rxe0");
        assertThat(program.server()).isEqualTo(new HostPort("10.77.0.1", 4791));
        assertThat(program.timeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(program.waiting()).isEqualTo(Duration.ofMinutes(5));
        assertThat(program.listen()).isEqualTo(new HostPort("", 18515));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--sizes 1 | Pingpong: Unknown option: '--sizes'; options: --listen --device",
                "--device | Pingpong: Missing required parameter for option '--device' (NAME)",
                "--device= | Pingpong: --device needs a value: NAME",
                "--listen= | Pingpong: Invalid value for option '--listen': the address is missing",
                "a b | Pingpong: Unmatched argument at index 1: 'b'",
                "--wait 1 --wait 2 | Pingpong: option '--wait' (SECONDS) should be specified only once",
                "--wait 0 | Pingpong: --wait 0: must be an integer from 1 to 86400",
                "--wait x | Pingpong: Invalid value for option '--wait': 'x' is not an int",
                ":7 | Pingpong: the server's host is missing",
                "--size 4096 | Pingpong: --size means nothing on a server of --connect cm: its client tells it",
                "--skip 1 --connect socket | Pingpong: --skip means nothing on a server: the client measures",
                "host --listen 10.0.0.1 | Pingpong: --listen means nothing on a client",
                "host --mtu 1024 | Pingpong: --mtu means nothing without --connect socket",
                "host --connect socket --mtu 1500 | Pingpong: --mtu 1500: must be one of 256, 512, 1024",
                "host --iterations 5 --skip 5 | Pingpong: --skip 5: must be an integer from 0 to 4",
                "host --connect tcp | Pingpong: --connect tcp: must be one of cm, socket",
                "host --size 999m | Pingpong: --size 1047527424: must be an integer from 1 to 268435456",
            })
    void commandLinesOfPingpongThatMakeNoSense(String line, String message) {
        assertThat(run(new Pingpong(), line)).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).startsWith(message).endsWith("; --help explains\n");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--connect socket host | Bandwidth: Unknown options: '--connect', 'host'; options: --listen --device",
                "--depth 4 | Bandwidth: --depth means nothing on a server: its client tells it",
                "host --operation erase | Bandwidth: --operation erase: must be one of read, write, send",
                "host --size 1m --depth 1025 | Bandwidth: --size times --depth is 1074790400: must be at most",
                "host --depth 0 | Bandwidth: --depth 0: must be an integer from 1 to 4096",
            })
    void commandLinesOfBandwidthThatMakeNoSense(String line, String message) {
        assertThat(run(new Bandwidth(), line)).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).startsWith(message).endsWith("; --help explains\n");
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "64k, 65536", "64K, 65536", "2m, 2097152", "-1, -1"})
    void bytesMayHaveAUnit(String text, int bytes) {
        assertThat(new Program.ByteCount().convert(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "k", "1.5", "1g", "99999999999999999999", "9999999999999m"})
    void malformedByteCountIsRefused(String text) {
        assertThatThrownBy(() -> new Program.ByteCount().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessage("'" + text + "' is no number of bytes such as 4096, 64k or 1m");
    }

    @ParameterizedTest
    @CsvSource({
        "10.0.0.1, 10.0.0.1, 18515",
        "10.0.0.1:5, 10.0.0.1, 5",
        "host.example:0, host.example, 0",
        ":7, '', 7",
        "fe80::1, fe80::1, 18515",
        "[fe80::1], fe80::1, 18515",
        "[fe80::1]:9, fe80::1, 9",
    })
    void hostsAndPortsAreToldApart(String text, String host, int port) {
        assertThat(new HostPort.Converter().convert(text)).isEqualTo(new HostPort(host, port));
    }

    @ParameterizedTest
    @ValueSource(strings = {"10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1", "10.0.0.1:http", "[::1]:x"})
    void portsThatAreNoneAreRefused(String text) {
        assertThatThrownBy(() -> new HostPort.Converter().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessage("'" + text + "': the port must be a number from 0 to 65535");
    }
}
