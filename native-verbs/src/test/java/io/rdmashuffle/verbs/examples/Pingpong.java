// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Messages to and fro between two hosts, every byte compared: latency, and proof that a path works. The counterpart of
 * ibv_rc_pingpong, which may be the other side.
 *
 * <p><b>Threading:</b> the main thread does everything, and polls without sleeping.
 */
public final class Pingpong {
    private static final List<String> WAYS = List.of("cm", "socket");
    /** The first one is the default, as ibv_rc_pingpong's. */
    private static final List<String> MTUS = List.of("1024", "256", "512", "2048", "4096");

    private static final int DEFAULT_BYTES = 4096;
    private static final int DEFAULT_COUNT = 1000;
    /** Each exchange leaves its time in memory. */
    private static final int MAX_COUNT = 10_000_000;

    private static final int MAX_GID_INDEX = 1023;
    /** Two receives, and what is sent. */
    private static final int MAX_BYTES = Plan.MAX_BYTES / 4;

    static final Program PROGRAM = new Program(
            "Pingpong",
            """
            Sends messages to a server, which sends them back, and compares every byte. Prints half round trips.
            With --connect socket the other side may be ibv_rc_pingpong, of the same size, iterations and MTU.
            Defaults: 4096 bytes, 1000 iterations.
            """,
            List.of(
                    Option.LISTEN,
                    Option.DEVICE,
                    Option.CONNECT,
                    Option.SIZE,
                    Option.ITERATIONS,
                    Option.SKIP,
                    Option.MTU,
                    Option.GID_INDEX,
                    Option.WAIT,
                    Option.TIMEOUT,
                    Option.HELP),
            (arguments, out) -> new Pingpong(arguments, out).run());

    private final PrintStream out;
    private final @Nullable HostPort server;
    private final HostPort listen;
    private final boolean managed;
    private final PortChoice choice;
    private final int bytes;
    private final int count;
    private final int skip;
    private final Duration wait;
    private final Duration timeout;

    private Pingpong(Arguments arguments, PrintStream out) throws MisuseException {
        this.out = out;
        server = arguments.server();
        listen = arguments.listen();
        managed = arguments.choice(Option.CONNECT, WAYS).equals("cm");
        if (server == null) {
            arguments.refuse("on a server: the client measures", Option.SKIP);
        } else {
            arguments.refuse("on a client", Option.LISTEN, Option.WAIT);
        }
        if (managed) {
            arguments.refuse("without --connect socket", Option.MTU, Option.GID_INDEX);
            if (server == null) {
                arguments.refuse("on a server of --connect cm: its client tells it", Option.SIZE, Option.ITERATIONS);
            }
        }
        choice = new PortChoice(
                arguments.text(Option.DEVICE),
                arguments.number(Option.GID_INDEX, PortChoice.ANY_GID, 0, MAX_GID_INDEX),
                Integer.parseInt(arguments.choice(Option.MTU, MTUS)));
        bytes = arguments.bytes(Option.SIZE, DEFAULT_BYTES, 1, MAX_BYTES);
        count = arguments.number(Option.ITERATIONS, DEFAULT_COUNT, 1, MAX_COUNT);
        skip = arguments.number(Option.SKIP, count / 5, 0, count - 1);
        wait = arguments.seconds(Option.WAIT, 300);
        timeout = arguments.seconds(Option.TIMEOUT, 10);
    }

    /**
     * Runs the program and ends the virtual machine with its exit code.
     *
     * @param words options and, on a client, the server; {@code --help} explains them
     */
    public static void main(String... words) {
        System.exit(PROGRAM.run(System.out, System.err, words));
    }

    private void run() throws IOException, RdmaUnavailableException {
        VerbsLibrary library = VerbsLibrary.load();
        HostPort to = server;
        if (to == null && managed) {
            serveManaged(library);
        } else if (to == null) {
            serveDirect(library);
        } else if (managed) {
            connectManaged(library, to.resolve());
        } else {
            connectDirect(library, to.resolve());
        }
    }

    private void serveManaged(VerbsLibrary library) throws IOException {
        try (ManagedListener listener = ManagedListener.open(library, listen, choice.deviceName())) {
            out.println(
                    "listening at " + HostPort.text(listener.address()) + " for librdmacm on " + listener.deviceName());
            CmEvent request = listener.request(wait, Pingpong::refusal, out);
            Plan plan = Plan.decode(request.privateData());
            Function<Side, byte[]> prepare = side -> {
                Exchange.prepare(side, plan.bytes());
                return new byte[0];
            };
            try (ManagedLink link = listener.accept(request, timeout, Exchange.needs(plan.bytes()), prepare);
                    Exchange exchange = new Exchange(link, plan.bytes(), timeout)) {
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
        String device = choice.deviceName();
        InetAddress source =
                device == null ? null : LocalAddress.ofDevice(library, device).address();
        byte[] request = new Plan(Plan.Work.PINGPONG, bytes, 1, count).encode();
        try (ManagedLink link = ManagedLink.connect(
                        library, source, to, timeout, Exchange.needs(bytes), request, this::prepare);
                Exchange exchange = new Exchange(link, bytes, timeout)) {
            lead(exchange, link);
        }
    }

    private void serveDirect(VerbsLibrary library) throws IOException {
        try (DirectListener listener = DirectListener.open(library, listen, choice)) {
            out.println(
                    "listening at " + HostPort.text(listener.address()) + " for TCP, with " + listener.deviceName());
            try (DirectLink link = listener.accept(wait, timeout, Exchange.needs(bytes), this::prepare);
                    Exchange exchange = new Exchange(link, bytes, timeout)) {
                follow(exchange, link, bytes, count);
            }
        }
    }

    private void connectDirect(VerbsLibrary library, InetSocketAddress to) throws IOException {
        try (DirectLink link = DirectLink.connect(library, to, choice, timeout, Exchange.needs(bytes), this::prepare);
                Exchange exchange = new Exchange(link, bytes, timeout)) {
            lead(exchange, link);
        }
    }

    private void prepare(Side side) {
        Exchange.prepare(side, bytes);
    }

    private void follow(Exchange exchange, Link link, int messageBytes, int messages) throws IOException {
        out.println("client " + link.peer() + ", " + link.path());
        exchange.follow(messages);
        out.println("sent back " + messages + " messages of " + messageBytes + " bytes");
    }

    private void lead(Exchange exchange, Link link) throws IOException {
        out.println("server " + link.peer() + ", " + link.path());
        long[] nanos = exchange.lead(count);
        out.println(count + " messages of " + bytes + " bytes there and back, every byte as it was sent; the first "
                + skip + " not measured");
        out.println(Figures.halfRoundTrips(Arrays.copyOfRange(nanos, skip, count)));
    }
}
