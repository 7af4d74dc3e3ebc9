// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Messages to and fro between two hosts, every byte compared: latency, and proof that a path works. The counterpart of
 * ibv_rc_pingpong, which may be the other side.
 *
 * <p><b>Threading:</b> the main thread does everything, and polls without sleeping.
 */
@Command(
        name = "Pingpong",
        description = {
            "Sends messages to a server, which sends them back, and compares every byte. Prints half round trips.",
            "With --connect socket the other side may be ibv_rc_pingpong, of the same size, iterations and MTU."
        })
public final class Pingpong extends Program {
    private static final List<String> WAYS = List.of("cm", "socket");
    private static final List<String> MTUS = List.of("256", "512", "1024", "2048", "4096");

    /** Each exchange leaves its time in memory. */
    private static final int MAX_COUNT = 10_000_000;

    private static final int MAX_GID_INDEX = 1023;
    /** Two receive buffers and a send buffer. */
    private static final int MAX_BYTES = Plan.MAX_BYTES / 4;

    @Option(
            names = "--connect",
            paramLabel = "cm|socket",
            description = "cm connects with librdmacm; socket exchanges numbers by TCP as ibv_rc_pingpong does, whose"
                    + " server or client the other side may be. Both sides the same; default: ${DEFAULT-VALUE}")
    private String connect = "cm";

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = ByteCount.class,
            description = "bytes of a message, with k or m for KiB or MiB; default: ${DEFAULT-VALUE}")
    private int bytes = 4096;

    @Option(names = "--iterations", paramLabel = "N", description = "messages each way; default: ${DEFAULT-VALUE}")
    private int count = 1000;

    @Option(
            names = "--skip",
            paramLabel = "N",
            description = "how many of them are not measured, in which Java compiles the code; default: a fifth")
    private @Nullable Integer skipped;

    @Option(
            names = "--mtu",
            paramLabel = "BYTES",
            description = "with socket: 256, 512, 1024, 2048 or 4096, both sides the same; default: ${DEFAULT-VALUE}")
    private String mtu = "1024";

    @Option(
            names = "--gid-index",
            paramLabel = "N",
            description = "with socket: row of the port's table of GIDs; default: RoCE v2 of the address, on InfiniBand"
                    + " none")
    private @Nullable Integer gidIndex;

    /**
     * Runs the program and exits with its exit code.
     *
     * @param words options and, on a client, the server; {@code --help} explains them
     */
    public static void main(String... words) {
        System.exit(new Pingpong().commandLine().execute(words));
    }

    @Override
    void run() throws IOException, RdmaUnavailableException {
        HostPort to = server();
        boolean managed = choice("--connect", connect, WAYS).equals("cm");
        if (to == null) {
            refuse("on a server: the client measures", "--skip");
        }
        if (managed) {
            refuse("without --connect socket", "--mtu", "--gid-index");
            if (to == null) {
                refuse("on a server of --connect cm: its client tells it", "--size", "--iterations");
            }
        }
        choice("--mtu", mtu, MTUS);
        within("--size", bytes, 1, MAX_BYTES);
        within("--iterations", count, 1, MAX_COUNT);
        if (skipped != null) {
            within("--skip", skipped, 0, count - 1);
        }
        PortChoice port = new PortChoice(
                device(),
                gidIndex == null ? PortChoice.ANY_GID : within("--gid-index", gidIndex, 0, MAX_GID_INDEX),
                Integer.parseInt(mtu));
        VerbsLibrary library = VerbsLibrary.load();
        if (to == null && managed) {
            serveManaged(library);
        } else if (to == null) {
            serveDirect(library, port);
        } else if (managed) {
            connectManaged(library, to.resolve());
        } else {
            connectDirect(library, port, to.resolve());
        }
    }

    private void serveManaged(VerbsLibrary library) throws IOException {
        try (ManagedListener listener = ManagedListener.open(library, listen(), device())) {
            out().println("listening at " + HostPort.text(listener.address()) + " for librdmacm on "
                    + listener.deviceName());
            CmEvent request = listener.request(waiting(), Pingpong::refusal, out());
            Plan plan = Plan.decode(request.privateData());
            Function<Side, byte[]> prepare = side -> {
                Exchange.prepare(side, plan.bytes());
                return new byte[0];
            };
            try (ManagedLink link = listener.accept(request, timeout(), Exchange.needs(plan.bytes()), prepare);
                    Exchange exchange = new Exchange(link, plan.bytes(), timeout())) {
                follow(exchange, link, plan.bytes(), plan.count());
                link.awaitGoodbye();
            }
        }
    }

    private static @Nullable String refusal(byte[] told) {
        try {
            Plan plan = Plan.decode(told);
            return plan.work() == Plan.Work.PINGPONG && plan.bytes() <= MAX_BYTES
                    ? null
                    : "this is Pingpong, which does no " + plan;
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
    }

    private void connectManaged(VerbsLibrary library, InetSocketAddress to) throws IOException {
        String name = device();
        InetAddress source =
                name == null ? null : LocalAddress.ofDevice(library, name).address();
        byte[] request = new Plan(Plan.Work.PINGPONG, bytes, 1, count).encode();
        try (ManagedLink link = ManagedLink.connect(
                        library, source, to, timeout(), Exchange.needs(bytes), request, this::prepare);
                Exchange exchange = new Exchange(link, bytes, timeout())) {
            lead(exchange, link);
        }
    }

    private void serveDirect(VerbsLibrary library, PortChoice port) throws IOException {
        try (DirectListener listener = DirectListener.open(library, listen(), port)) {
            out().println("listening at " + HostPort.text(listener.address()) + " for TCP, with "
                    + listener.deviceName());
            try (DirectLink link = listener.accept(waiting(), timeout(), Exchange.needs(bytes), this::prepare);
                    Exchange exchange = new Exchange(link, bytes, timeout())) {
                follow(exchange, link, bytes, count);
            }
        }
    }

    private void connectDirect(VerbsLibrary library, PortChoice port, InetSocketAddress to) throws IOException {
        try (DirectLink link = DirectLink.connect(library, to, port, timeout(), Exchange.needs(bytes), this::prepare);
                Exchange exchange = new Exchange(link, bytes, timeout())) {
            lead(exchange, link);
        }
    }

    private void prepare(Side side) {
        Exchange.prepare(side, bytes);
    }

    private void follow(Exchange exchange, Link link, int messageBytes, int messages) throws IOException {
        out().println("client " + link.peer() + ", " + link.path());
        exchange.follow(messages);
        out().println("sent back " + messages + " messages of " + messageBytes + " bytes");
    }

    private void lead(Exchange exchange, Link link) throws IOException {
        out().println("server " + link.peer() + ", " + link.path());
        long[] nanos = exchange.lead(count);
        int skip = skipped == null ? count / 5 : skipped;
        out().println(count + " messages of " + bytes + " bytes there and back, every byte as it was sent; the first "
                + skip + " not measured");
        out().println(Figures.halfRoundTrips(Arrays.copyOfRange(nanos, skip, count)));
    }
}
