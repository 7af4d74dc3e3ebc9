// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How fast READs, WRITEs or SENDs between two hosts are, with several of them outstanding. The counterpart of
 * perftest's ib_read_bw, ib_write_bw and ib_send_bw. On iWARP a WRITE is complete when TCP has it.
 *
 * <p><b>Threading:</b> the main thread does everything; but for a server of READs and WRITEs it polls without sleeping.
 */
public final class Bandwidth {
    private static final List<String> OPERATIONS = List.of("read", "write", "send");
    private static final int DEFAULT_BYTES = 1 << 16;
    private static final int DEFAULT_DEPTH = 16;
    private static final int DEFAULT_COUNT = 5000;

    static final Program PROGRAM = new Program(
            "Bandwidth",
            """
            Reads from a server's memory, writes into it, or sends to it, and prints how fast. The server needs to
            be told nothing: its client says what it is going to do. At most 1 GiB of memory on each side.
            Defaults: READs of 64k, 16 outstanding, 5000 iterations.
            """,
            List.of(
                    Option.LISTEN,
                    Option.DEVICE,
                    Option.OPERATION,
                    Option.SIZE,
                    Option.DEPTH,
                    Option.ITERATIONS,
                    Option.SKIP,
                    Option.WAIT,
                    Option.TIMEOUT,
                    Option.HELP),
            (arguments, out) -> new Bandwidth(arguments, out).run());

    private final PrintStream out;
    private final @Nullable HostPort server;
    private final HostPort listen;
    private final @Nullable String device;
    private final Plan plan;
    private final int skip;
    private final Duration wait;
    private final Duration timeout;

    private Bandwidth(Arguments arguments, PrintStream out) throws MisuseException {
        this.out = out;
        server = arguments.server();
        listen = arguments.listen();
        device = arguments.text(Option.DEVICE);
        if (server == null) {
            arguments.refuse(
                    "on a server: its client tells it",
                    Option.OPERATION,
                    Option.SIZE,
                    Option.DEPTH,
                    Option.ITERATIONS,
                    Option.SKIP);
        } else {
            arguments.refuse("on a client", Option.LISTEN, Option.WAIT);
        }
        plan = new Plan(
                Plan.Work.of(arguments.choice(Option.OPERATION, OPERATIONS)),
                arguments.bytes(Option.SIZE, DEFAULT_BYTES, 1, Plan.MAX_BYTES),
                arguments.number(Option.DEPTH, DEFAULT_DEPTH, 1, Plan.MAX_DEPTH),
                arguments.number(Option.ITERATIONS, DEFAULT_COUNT, 1, Integer.MAX_VALUE));
        if (plan.memoryBytes() > Plan.MAX_BYTES) {
            throw new MisuseException(Option.SIZE.word() + " times " + Option.DEPTH.word() + " is " + plan.memoryBytes()
                    + ": must be at most " + Plan.MAX_BYTES + " bytes");
        }
        skip = arguments.number(Option.SKIP, plan.count() / 5, 0, plan.count() - 1);
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
        if (to == null) {
            serve(library);
        } else {
            measure(library, to.resolve());
        }
    }

    private void serve(VerbsLibrary library) throws IOException {
        try (ManagedListener listener = ManagedListener.open(library, listen, device)) {
            out.println(
                    "listening at " + HostPort.text(listener.address()) + " for librdmacm on " + listener.deviceName());
            CmEvent request = listener.request(wait, Bandwidth::refusal, out);
            Plan asked = Plan.decode(request.privateData());
            try (ManagedLink link = listener.accept(
                            request,
                            timeout,
                            Service.needs(asked),
                            side -> Service.prepare(side, asked).encode());
                    Service service = new Service(link, asked, timeout)) {
                out.println("client " + link.peer() + ", " + link.path());
                out.println(asked);
                Report result = service.run();
                out.println(Figures.bandwidth(asked.bytes(), result.operations(), result.nanos())
                        + ", as the client measured");
                link.awaitGoodbye();
            }
        }
    }

    private static @Nullable String refusal(byte[] told) {
        try {
            return Plan.decode(told).work() == Plan.Work.PINGPONG ? "this is Bandwidth, not Pingpong" : null;
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
    }

    private void measure(VerbsLibrary library, InetSocketAddress to) throws IOException {
        String name = device;
        InetAddress source =
                name == null ? null : LocalAddress.ofDevice(library, name).address();
        try (ManagedLink link = ManagedLink.connect(
                        library, source, to, timeout, Load.needs(plan), plan.encode(), this::prepare);
                Load load = new Load(link, plan, Target.decode(link.told()), timeout)) {
            out.println("server " + link.peer() + ", " + link.path());
            out.println(plan + ", the first " + skip + " not measured");
            if (skip > 0) {
                load.run(skip);
            }
            int measured = plan.count() - skip;
            long nanos = load.run(measured);
            load.finish(measured, nanos);
            out.println(Figures.bandwidth(plan.bytes(), measured, nanos));
        }
    }

    /** On iWARP a SEND that finds no receive ends the connection. */
    private void prepare(Side side) {
        if (plan.work() == Plan.Work.SEND && side.context().transport() == Transport.IWARP) {
            throw new IllegalStateException("on iWARP nothing holds a sender back until its peer has posted a receive:"
                    + " --operation send cannot be measured on "
                    + side.context().deviceName());
        }
        Load.prepare(side, plan);
    }
}
