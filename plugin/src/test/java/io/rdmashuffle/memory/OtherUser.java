// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * Another local user, who runs shell scripts. Only root can act as one: elsewhere tests are skipped, or fail with
 * {@code REQUIRE_ROOT=1}.
 */
public final class OtherUser {
    /** User id without rights, 65534. */
    public static final int UID = 65534;

    private static final long SECONDS = 30;

    private OtherUser() {}

    /** Skips the test where this process may not act as another user. */
    public static void require() throws IOException, InterruptedException {
        if (run("true") != 0) {
            if ("1".equals(System.getenv("REQUIRE_ROOT"))) {
                throw new AssertionError("setpriv failed; needs root");
            }
            Assumptions.abort("needs root to act as another user");
        }
    }

    /** Opens a directory to everybody, with the sticky bit, as /dev/shm and /tmp are. */
    public static void share(Path directory) throws IOException, InterruptedException {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        Process chmod = new ProcessBuilder("chmod", "1777", directory.toString())
                .inheritIO()
                .start();
        if (!chmod.waitFor(SECONDS, TimeUnit.SECONDS) || chmod.exitValue() != 0) {
            throw new IOException("cannot share " + directory);
        }
    }

    /** Runs a script of sh with arguments {@code $1}, {@code $2}, ... to its end; returns its exit status. */
    public static int run(String script, Object... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of("setpriv", "--reuid=" + UID, "--regid=" + UID, "--clear-groups", "sh", "-c", script, "sh"));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new IOException("a script of the other user did not end: " + script);
        }
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (!output.isBlank()) {
            System.out.println("other user: " + output.strip());
        }
        return process.exitValue();
    }
}
