// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.Requirements;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a process reads whose limit of locked memory is too low; root's right to ignore the limit is dropped for it. */
@Tag("rdma")
@Tag("nightly")
@Timeout(180)
class LockedMemoryTest {
    private static final long BYTES = 16L << 20;

    @Test
    void messageNamesTheLimit() throws Exception {
        RdmaTestDevice device = RdmaTestDevice.require();
        Requirements.require(isThere("setpriv"), "no setpriv: apt-get install util-linux");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String command = "ulimit -l 64 && exec setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock " + java
                + " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '" + System.getProperty("java.class.path") + "' '"
                + Registration.class.getName() + "'";
        Process process = new ProcessBuilder("bash", "-c", command)
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        System.out.println(output.strip());
        device.assume(!output.contains("registered"), "a limit of locked memory that binds this user");
        assertThat(output)
                .contains("ibv_reg_mr(length=16777216, access=[LOCAL_WRITE]) on ")
                .contains("ENOMEM (12)")
                .contains("raise RLIMIT_MEMLOCK (ulimit -l, now 65536 bytes)");
    }

    private static boolean isThere(String program) throws IOException, InterruptedException {
        return new ProcessBuilder(List.of("bash", "-c", "command -v " + program))
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start()
                        .waitFor()
                == 0;
    }

    /** The child process: registers, and prints what became of it. */
    static final class Registration {
        private Registration() {}

        public static void main(String[] arguments) throws RdmaUnavailableException {
            VerbsLibrary library = VerbsLibrary.load();
            try (DeviceList list = DeviceList.read(library);
                    NativeBuffer buffer = new NativeBuffer(BYTES);
                    Context context = list.devices().get(0).open()) {
                ProtectionDomain domain = context.allocateProtectionDomain();
                domain.registerMemory(buffer.address(), BYTES, Set.of(Access.LOCAL_WRITE));
                System.out.println("registered");
            } catch (NativeException e) {
                System.out.println(e.getMessage());
            }
        }
    }
}
