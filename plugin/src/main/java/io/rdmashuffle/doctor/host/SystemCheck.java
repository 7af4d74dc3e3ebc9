// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import java.util.List;
import java.util.Set;

/**
 * Whether this Java on this system can call native code at all.
 *
 * <p><b>Threading:</b> stateless.
 */
final class SystemCheck {
    private static final Set<String> PROCESSORS = Set.of("amd64", "x86_64", "aarch64");

    private SystemCheck() {}

    static List<Finding> run(Host host) {
        return List.of(system(host), nativeCode(host));
    }

    private static Finding system(Host host) {
        String system = host.property("os.name");
        String processor = host.property("os.arch");
        String message = "Java " + host.property("java.version") + " (" + host.property("java.vendor") + "), " + system
                + " " + host.property("os.version") + " on " + processor + ", user " + host.property("user.name");
        boolean known = system.equals("Linux") && PROCESSORS.contains(processor);
        Finding finding = known
                ? Finding.ok("system", message)
                : Finding.wrong(
                        "system",
                        Effect.SORT_SHUFFLE,
                        message + ": the jar has native code for Linux on x86-64 and aarch64 only",
                        "run executors on Linux on x86-64 or aarch64, with a Java of 64 bits");
        return finding.with("java", host.property("java.version"))
                .with("os", system)
                .with("kernel", host.property("os.version"))
                .with("arch", processor);
    }

    private static Finding nativeCode(Host host) {
        String reason = host.reasonAgainstNative().get().orElse("");
        return reason.isEmpty()
                ? Finding.ok("native-code", "native code can be called (jffi is unpacked and loaded)")
                : Finding.wrong(
                        "native-code",
                        Effect.SORT_SHUFFLE,
                        reason,
                        "let java.io.tmpdir (now " + host.property("java.io.tmpdir") + ") be a directory of a file"
                                + " system that is not mounted noexec: -Djava.io.tmpdir=DIR in"
                                + " spark.executor.extraJavaOptions and spark.driver.extraJavaOptions; with Java 24 or"
                                + " newer also --enable-native-access=ALL-UNNAMED there");
    }
}
