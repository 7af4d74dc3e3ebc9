// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * How fast READs, WRITEs or SENDs between two hosts are, with several of them outstanding. The counterpart of
 * perftest's ib_read_bw, ib_write_bw and ib_send_bw. On iWARP a WRITE is complete when TCP has it.
 *
 * <p><b>Threading:</b> the main thread does everything; but for a server of READs and WRITEs it polls without sleeping.
 */
@Command(
        name = "Bandwidth",
        description = {
            "Reads from a server's memory, writes into it, or sends to it, and prints the bandwidth. The client tells",
            "the server the operation and sizes. At most 1 GiB of memory on each side."
        })
public final class Bandwidth extends Program {
    private static final List<String> OPERATIONS = List.of("read", "write", "send");

    @Option(
            names = "--operation",
            paramLabel = "read|write|send",
            description = "operation that is measured; default: ${DEFAULT-VALUE}")
    private String operation = "read";

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = ByteCount.class,
            description = "bytes of an operation, with k or m for KiB or MiB; default: 64k")
    private int bytes = 1 << 16;

    @Option(
            names = "--depth",
            paramLabel = "N",
            description = "operations outstanding at once; default: ${DEFAULT-VALUE}")
    private int depth = 16;

    @Option(names = "--iterations", paramLabel = "N", description = "operations in all; default: ${DEFAULT-VALUE}")
    private int count = 5000;

    @Option(
            names = "--skip",
            paramLabel = "N",
            description = "how many of them are not measured, in which Java compiles the code; default: a fifth")
    private @Nullable Integer skipped;

    /**
     * Runs the program and exits with its exit code.
     *
     * @param words options and, on a client, the server; {@code --help} explains them
     */
    public static void main(String... words) {
        System.exit(new Bandwidth().commandLine().execute(words));
    }

    @Override
    void run() throws IOException, RdmaUnavailableException {
        HostPort to = server();
        if (to == null) {
            refuse("on a server: its client tells it", "--operation", "--size", "--depth", "--iterations", "--skip");
            serve(VerbsLibrary.load());
        } else {
            Plan plan = plan();
            int skip = skipped == null ? count / 5 : within("--skip", skipped, 0, count - 1);
            measure(VerbsLibrary.load(), to.resolve(), plan, skip);
        }
    }

    private Plan plan() {
        Plan plan = new Plan(
                Plan.Work.of(choice("--operation", operation, OPERATIONS)),
                within("--size", bytes, 1, Plan.MAX_BYTES),
                within("--depth", depth, 1, Plan.MAX_DEPTH),
                within("--iterations", count, 1, Integer.MAX_VALUE));
        if (plan.memoryBytes() > Plan.MAX_BYTES) {
            throw misuse(
                    "--size times --depth is " + plan.memoryBytes() + ": must be at most " + Plan.MAX_BYTES + " bytes");
        }
        return plan;
    }

    private void serve(VerbsLibrary library) throws IOException {
        try (ManagedListener listener = ManagedListener.open(library, listen(), device())) {
            out().println("listening at " + HostPort.text(listener.address()) + " for librdmacm on "
                    + listener.deviceName());
            CmEvent request = listener.request(waiting(), Bandwidth::refusal, out());
            Plan asked = Plan.decode(request.privateData());
            try (ManagedLink link = listener.accept(
                            request,
                            timeout(),
                            Service.needs(asked),
                            side -> Service.prepare(side, asked).encode());
                    Service service = new Service(link, asked, timeout())) {
                out().println("client " + link.peer() + ", " + link.path());
                out().println(asked);
                Report result = service.run();
                out().println(Figures.bandwidth(asked.bytes(), result.operations(), result.nanos())
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

    private void measure(VerbsLibrary library, InetSocketAddress to, Plan plan, int skip) throws IOException {
        String name = device();
        InetAddress source =
                name == null ? null : LocalAddress.ofDevice(library, name).address();
        try (ManagedLink link = ManagedLink.connect(
                        library, source, to, timeout(), Load.needs(plan), plan.encode(), side -> prepare(side, plan));
                Load load = new Load(link, plan, Target.decode(link.told()), timeout())) {
            out().println("server " + link.peer() + ", " + link.path());
            out().println(plan + ", the first " + skip + " not measured");
            if (skip > 0) {
                load.run(skip);
            }
            int measured = plan.count() - skip;
            long nanos = load.run(measured);
            load.finish(measured, nanos);
            out().println(Figures.bandwidth(plan.bytes(), measured, nanos));
        }
    }

    /** On iWARP a SEND that finds no receive ends the connection. */
    private static void prepare(Side side, Plan plan) {
        if (plan.work() == Plan.Work.SEND && side.context().transport() == Transport.IWARP) {
            throw new IllegalStateException("on iWARP nothing holds a sender back until its peer has posted a receive:"
                    + " --operation send cannot be measured on "
                    + side.context().deviceName());
        }
        Load.prepare(side, plan);
    }
}
