// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.file.Path;

/**
 * What a test needs of the machine. Without it the test is skipped with the reason; {@code REQUIRE_RDMA=1} in the
 * environment turns the skip into a failure, so that a pipeline cannot be green with everything skipped.
 */
public final class Requirements {
    private static final String HEADERS =
            "#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\nint main(void) { return 0; }\n";

    private Requirements() {}

    /** Needs a C compiler. */
    static void compiler(Path directory) throws IOException, InterruptedException {
        CCompiler.Result result = CCompiler.program(directory, "compiler", "int main(void) { return 0; }\n");
        require(result.ok(), "no C compiler: apt-get install gcc libc6-dev; " + result.output());
    }

    /** Needs a C compiler and the headers of rdma-core. */
    static void verbsHeaders(Path directory) throws IOException, InterruptedException {
        compiler(directory);
        CCompiler.Result result = CCompiler.program(directory, "headers", HEADERS);
        require(result.ok(), "no headers: apt-get install libibverbs-dev librdmacm-dev; " + result.output());
    }

    /** Needs libibverbs and librdmacm, but no device. */
    static void verbsLibraries() {
        try {
            IbVerbs.load();
            RdmaCm.load();
        } catch (UnsatisfiedLinkError e) {
            require(false, "no libraries: apt-get install libibverbs1 librdmacm1; " + e.getMessage());
        }
    }

    /** Skips the test, or fails it with {@code REQUIRE_RDMA=1}, when something is missing. */
    public static void require(boolean met, String reason) {
        if (!met) {
            if ("1".equals(System.getenv("REQUIRE_RDMA"))) {
                fail("REQUIRE_RDMA=1, but " + reason);
            }
            abort(reason);
        }
    }
}
