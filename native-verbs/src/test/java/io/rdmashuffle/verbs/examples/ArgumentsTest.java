// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Command lines, right and wrong. */
@Tag("unit")
class ArgumentsTest {
    private static final List<Option> KNOWN =
            List.of(Option.LISTEN, Option.DEVICE, Option.OPERATION, Option.SIZE, Option.TIMEOUT, Option.HELP);

    private static Arguments parse(String... words) throws MisuseException {
        return Arguments.parse(KNOWN, words);
    }

    @Test
    void valuesFollowTheirOptionOrAnEqualsSign() throws MisuseException {
        Arguments arguments = parse("--device", "rxe0", "10.77.0.1:4791", "--size=64k", "--timeout=3");
        assertThat(arguments.text(Option.DEVICE)).isEqualTo("rxe0");
        assertThat(arguments.server()).isEqualTo(new HostPort("10.77.0.1", 4791));
        assertThat(arguments.bytes(Option.SIZE, 1, 1, 1 << 20)).isEqualTo(65_536);
        assertThat(arguments.seconds(Option.TIMEOUT, 10)).isEqualTo(Duration.ofSeconds(3));
        assertThat(arguments.has(Option.HELP)).isFalse();
    }

    @Test
    void whatIsNotSaidIsTheDefault() throws MisuseException {
        Arguments arguments = parse();
        assertThat(arguments.server()).isNull();
        assertThat(arguments.listen()).isEqualTo(new HostPort("", 18515));
        assertThat(arguments.bytes(Option.SIZE, 4096, 1, 1 << 20)).isEqualTo(4096);
        assertThat(arguments.choice(Option.OPERATION, List.of("read", "write"))).isEqualTo("read");
    }

    @Test
    void anUnknownOptionIsAnsweredWithThoseThatThereAre() {
        assertThatThrownBy(() -> parse("--sizes", "1"))
                .isInstanceOf(MisuseException.class)
                .hasMessage("unknown option --sizes; there are: --listen --device --operation --size --timeout --help");
        assertThatThrownBy(() -> parse("-s", "1")).hasMessageStartingWith("unknown option -s; there are: --listen");
    }

    @Test
    void valuesAreWhereTheyBelong() {
        assertThatThrownBy(() -> parse("--device")).hasMessage("--device needs a value: NAME");
        assertThatThrownBy(() -> parse("--device=")).hasMessage("--device needs a value: NAME");
        assertThatThrownBy(() -> parse("--help=yes")).hasMessage("--help has no value");
        assertThatThrownBy(() -> parse("--size", "1", "--size", "2")).hasMessage("--size is there twice");
        assertThatThrownBy(() -> parse("a", "b")).hasMessage("two servers, a and b: there can be one");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-1", "1025k", "x", "k", "1.5", "99999999999999999999", "9999999999999m"})
    void sizesOutsideTheirBoundsAreRefused(String size) {
        assertThatThrownBy(() -> parse("--size=" + size).bytes(Option.SIZE, 1, 1, 1 << 20))
                .isInstanceOf(MisuseException.class)
                .hasMessage("--size " + size + ": must be a whole number from 1 to 1048576");
    }

    @Test
    void wordsThatAreNoChoiceAreRefused() {
        assertThatThrownBy(() -> parse("--operation", "erase").choice(Option.OPERATION, List.of("read", "write")))
                .hasMessage("--operation erase: must be one of read, write");
    }

    @Test
    void optionsThatMeanNothingAreRefused() throws MisuseException {
        Arguments arguments = parse("--size", "1");
        arguments.refuse("here", Option.DEVICE);
        assertThatThrownBy(() -> arguments.refuse("on a server", Option.SIZE))
                .hasMessage("--size means nothing on a server");
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
    void hostsAndPortsAreToldApart(String text, String host, int port) throws MisuseException {
        assertThat(parse("--listen", text).listen()).isEqualTo(new HostPort(host, port));
    }

    @Test
    void portsThatAreNoneAreRefused() {
        for (String text : List.of("10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1", "10.0.0.1:http", "[::1]:x")) {
            assertThatThrownBy(() -> parse("--listen", text).listen())
                    .isInstanceOf(MisuseException.class)
                    .hasMessage("--listen " + text + ": the port must be a number from 0 to 65535");
        }
        assertThatThrownBy(() -> parse(":7").server()).hasMessage("server :7: the host is missing");
    }
}
