// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.RdmaTestDevice;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.ExitCode;

/**
 * Tests with server and client as two processes, and the C program as one of them. Parts that need no process run here,
 * where leaks are detected.
 */
@Tag("rdma")
@Tag("nightly")
@Timeout(300)
@ExtendWith(LeakCheck.class)
class ToolsTest {
    private static final Pattern LISTENING = Pattern.compile("listening at (\\S+) ");
    private static final Pattern LATENCY = Pattern.compile("half round trip: median (\\S+) us, 99 % (\\S+) us");
    private static final Pattern BANDWIDTH = Pattern.compile("(\\S+) MiB/s, \\S+ operations/s \\(400 operations in");
    private static final String C_PORT = "18517";

    private final List<Running> started = new ArrayList<>();
    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaTestDevice device;

    @BeforeEach
    void needDevice() {
        device = RdmaTestDevice.require();
    }

    @AfterEach
    void end() throws Exception {
        for (Running running : started) {
            running.kill();
        }
    }

    private Running java(String program, String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                "io.rdmashuffle.verbs.examples." + program));
        command.addAll(List.of(words));
        return run(command);
    }

    private Running run(List<String> command) throws IOException {
        Running running = new Running(command);
        started.add(running);
        return running;
    }

    /** Runs a program here; returns its exit code. */
    private int here(Program program, String... words) {
        PrintWriter both = new PrintWriter(printed, true, StandardCharsets.UTF_8);
        return program.commandLine().setOut(both).setErr(both).execute(words);
    }

    private String printed() {
        return printed.toString(StandardCharsets.UTF_8);
    }

    private String listenAnywhere() {
        return device.address().getHostAddress() + ":0";
    }

    private static String address(Running server) throws Exception {
        return server.awaitLine(LISTENING).group(1);
    }

    private static void assertPositive(Matcher figures) {
        for (int i = 1; i <= figures.groupCount(); i++) {
            assertThat(Double.parseDouble(figures.group(i))).as(figures.group()).isPositive();
        }
    }

    private void assertPrinted(Pattern figures) {
        Matcher found = figures.matcher(printed());
        assertThat(found.find()).as("%s", printed()).isTrue();
        assertPositive(found);
    }

    @Test
    void pingpongByLibrdmacm() throws Exception {
        Running server = java("Pingpong", "--listen", listenAnywhere());
        Running client = java("Pingpong", address(server), "--iterations", "500", "--size", "10000");
        assertPositive(client.awaitLine(LATENCY));
        assertThat(client.awaitEnd()).isEqualTo(ExitCode.OK);
        assertThat(client.output()).contains("500 messages of 10000 bytes there and back, every byte as it was sent");
        assertThat(server.awaitEnd()).isEqualTo(ExitCode.OK);
        assertThat(server.output()).contains("sent back 500 messages of 10000 bytes");
    }

    @Test
    void pingpongByASocket() throws Exception {
        device.assumeInfiniBand("queue pairs that connect without rdma_cm");
        Running server = java("Pingpong", "--listen", "127.0.0.1:0", "--connect", "socket", "--device", device.name());
        assertThat(here(new Pingpong(), address(server), "--connect", "socket"))
                .as("%s", printed())
                .isEqualTo(ExitCode.OK);
        assertPrinted(LATENCY);
        assertThat(server.awaitEnd()).isEqualTo(ExitCode.OK);
    }

    @Test
    void pingpongBesideTheProgramInC() throws Exception {
        device.assumeInfiniBand("queue pairs that connect without rdma_cm");
        Running server = c();
        awaitListening(Integer.parseInt(C_PORT));
        assertThat(here(new Pingpong(), "127.0.0.1:" + C_PORT, "--connect", "socket", "--device", device.name()))
                .as("%s", printed())
                .isEqualTo(ExitCode.OK);
        assertThat(printed()).contains("1000 messages of 4096 bytes there and back, every byte as it was sent");
        assertThat(server.awaitEnd()).isZero();
        assertThat(server.output()).contains("1000 iters in");
    }

    @Test
    void pingpongWithAClientInC() throws Exception {
        device.assumeInfiniBand("queue pairs that connect without rdma_cm");
        Running server = java("Pingpong", "--listen", ":" + C_PORT, "--connect", "socket", "--device", device.name());
        address(server);
        Running client = c("127.0.0.1"); // -c: it compares the echo, too
        assertThat(client.awaitEnd()).isZero();
        assertThat(client.output()).contains("1000 iters in").doesNotContain("invalid data");
        assertThat(server.awaitEnd()).isEqualTo(ExitCode.OK);
        assertThat(server.output()).contains("sent back 1000 messages of 4096 bytes");
    }

    private Running c(String... server) throws IOException {
        List<String> command =
                new ArrayList<>(List.of("ibv_rc_pingpong", "-d", device.name(), "-g", gidIndex(), "-p", C_PORT, "-c"));
        command.addAll(List.of(server));
        return run(command);
    }

    private String gidIndex() {
        return Integer.toString(device.gidIndex());
    }

    /** The C program does not say that it listens. */
    private static void awaitListening(int port) throws Exception {
        Pattern listening = Pattern.compile(String.format(Locale.ROOT, ":%04X [0-9A-F]+:0000 0A ", port));
        while (true) { // until the test's time is over
            for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
                if (Files.exists(Path.of(table))
                        && listening.matcher(Files.readString(Path.of(table))).find()) {
                    return;
                }
            }
            Thread.sleep(20);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"read", "write", "send"})
    void bandwidth(String operation) throws Exception {
        Running server = java("Bandwidth", "--listen", listenAnywhere());
        if (operation.equals("send") && device.iwarp()) {
            assertThat(here(new Bandwidth(), address(server), "--operation", "send"))
                    .isEqualTo(ExitCode.SOFTWARE);
            assertThat(printed()).contains("on iWARP nothing holds a sender back");
            return;
        }
        assertThat(here(new Bandwidth(), address(server), "--operation", operation, "--iterations", "500"))
                .as("%s", printed())
                .isEqualTo(ExitCode.OK);
        assertPrinted(BANDWIDTH);
        assertPositive(server.awaitLine(BANDWIDTH));
        assertThat(server.awaitEnd()).isEqualTo(ExitCode.OK);
        assertThat(server.output()).contains(operation.toUpperCase(Locale.ROOT) + " of 65536 bytes, 16 outstanding");
    }

    @Test
    void aClientThatIsKilledEndsItsServer() throws Exception {
        for (String program : List.of("Pingpong", "Bandwidth")) {
            Running server = java(program, "--listen", listenAnywhere(), "--timeout", "60");
            Running client = java(program, address(server), "--iterations", "9000000");
            server.awaitLine(Pattern.compile("client .*, by librdmacm"));
            client.awaitLine(Pattern.compile("server .*, by librdmacm"));
            client.kill();
            assertThat(server.awaitEnd()).isEqualTo(ExitCode.SOFTWARE);
            assertThat(server.output())
                    .containsPattern(
                            "(?m)^" + program + ": .*peer " + device.address().getHostAddress());
        }
    }

    @Test
    void aPeerThatIsSilentIsGivenUp() throws Exception {
        device.assumeInfiniBand("queue pairs that connect without rdma_cm");
        Running server = java("Pingpong", "--listen", "127.0.0.1:0", "--connect", "socket", "--timeout", "20");
        Running client = java("Pingpong", address(server), "--connect", "socket", "--iterations", "9000000");
        server.awaitLine(Pattern.compile("client .*, by numbers"));
        client.awaitLine(Pattern.compile("server .*, by numbers"));
        client.kill();
        assertThat(server.awaitEnd()).isEqualTo(ExitCode.SOFTWARE);
        assertThat(server.output()).containsPattern("Pingpong: .*(within 20 s|RETRY_EXCEEDED)");
    }

    @Test
    void aProgramThatDoesSomethingElseIsRefused() throws Exception {
        Running server = java("Bandwidth", "--listen", listenAnywhere(), "--wait", "60");
        String address = address(server);
        assertThat(here(new Pingpong(), address)).isEqualTo(ExitCode.SOFTWARE);
        assertThat(printed()).contains("the peer refused: this is Bandwidth, not Pingpong");
        assertThat(here(new Bandwidth(), address, "--iterations", "500")).isEqualTo(ExitCode.OK);
        assertThat(server.awaitEnd()).isEqualTo(ExitCode.OK);
        assertThat(server.output()).contains("refused ");
    }

    @Test
    void aServerThatIsNotThereAndADeviceThatIsNotThere() throws Exception {
        assertThat(here(new Pingpong(), device.address().getHostAddress() + ":1"))
                .isEqualTo(ExitCode.SOFTWARE);
        assertThat(printed()).startsWith("Pingpong: ");
        for (String way : List.of("cm", "socket")) {
            printed.reset();
            assertThat(here(new Pingpong(), "--device", "none0", "--connect", way))
                    .isEqualTo(ExitCode.SOFTWARE);
            assertThat(printed())
                    .contains("no RDMA device none0; devices of this machine: [")
                    .contains(device.name());
        }
    }

    @Test
    void aServerWithoutAClientEnds() {
        assertThat(here(new Bandwidth(), "--listen", listenAnywhere(), "--wait", "1"))
                .isEqualTo(ExitCode.SOFTWARE);
        assertThat(printed()).contains("Bandwidth: no client within 1 s");
        assertThat(here(
                        new Pingpong(),
                        "--listen",
                        "127.0.0.1:0",
                        "--connect",
                        "socket",
                        "--device",
                        device.name(),
                        "--wait",
                        "1"))
                .isEqualTo(ExitCode.SOFTWARE);
        assertThat(printed()).contains("Pingpong: no client within 1 s");
    }
}
