// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import java.util.Locale;

/** An option of either program, with what its help says. */
enum Option {
    LISTEN("ADDRESS[:PORT]", "where the server listens; default: the first RDMA device's address, port 18515"),
    DEVICE("NAME", "the RDMA device, such as mlx5_0; default: the one that the address belongs to"),
    CONNECT(
            "cm|socket",
            "cm connects with librdmacm; socket exchanges numbers by TCP as ibv_rc_pingpong does, whose"
                    + " server or client the other side may be. Both sides the same; default: cm"),
    OPERATION("read|write|send", "what is measured; default: read"),
    SIZE("BYTES", "bytes of a message or operation, with k or m for KiB or MiB"),
    ITERATIONS("N", "messages each way, or operations, in all"),
    SKIP("N", "how many of them are not measured, in which Java compiles the code; default: a fifth"),
    DEPTH("N", "operations outstanding at once"),
    MTU("BYTES", "with socket: 256, 512, 1024, 2048 or 4096, both sides the same; default: 1024"),
    GID_INDEX("N", "with socket: row of the port's table of GIDs; default: RoCE v2 of the address, on InfiniBand none"),
    WAIT("SECONDS", "how long a server waits for its client; default: 300"),
    TIMEOUT("SECONDS", "how long the peer may be silent before this side gives up; default: 10"),
    HELP("", "print this");

    private final String value;
    private final String meaning;

    Option(String value, String meaning) {
        this.value = value;
        this.meaning = meaning;
    }

    /** Returns the option as it is written on the command line. */
    String word() {
        return "--" + name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    boolean takesValue() {
        return !value.isEmpty();
    }

    /** Returns what the value looks like; empty if there is none. */
    String value() {
        return value;
    }

    String meaning() {
        return meaning;
    }
}
