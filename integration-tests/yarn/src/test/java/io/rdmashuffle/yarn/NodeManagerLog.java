// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a NodeManager's monitor of containers has logged, in MiB.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param usages what each container used, each time that its memory was measured
 * @param kills why containers were killed for their memory
 */
record NodeManagerLog(List<Usage> usages, List<String> kills) {
    private static final String SIZE = "([\\d.]+) ?([KMGT]?)B";
    private static final Pattern USAGE = Pattern.compile("Resource usage of ProcessTree \\d+ for container-id (\\S+): "
            + SIZE + " of " + SIZE + " physical memory used; " + SIZE + " of ");
    private static final Pattern KILL =
            Pattern.compile("Container \\[pid=\\d+,containerID=\\S+] is running \\d+B beyond the '\\w+' memory limit"
                    + ".*Killing container");

    /** One measurement. */
    record Usage(String container, double physical, double limit, double virtual) {}

    static NodeManagerLog read(Path log) throws IOException {
        return parse(Files.readAllLines(log, StandardCharsets.ISO_8859_1));
    }

    static NodeManagerLog parse(List<String> lines) {
        List<Usage> usages = new ArrayList<>();
        List<String> kills = new ArrayList<>();
        for (String line : lines) {
            Matcher usage = USAGE.matcher(line);
            if (usage.find()) {
                usages.add(new Usage(usage.group(1), mebibytes(usage, 2), mebibytes(usage, 4), mebibytes(usage, 6)));
            }
            Matcher kill = KILL.matcher(line);
            if (kill.find()) {
                kills.add(kill.group());
            }
        }
        return new NodeManagerLog(usages, kills);
    }

    private static double mebibytes(Matcher matcher, int group) {
        double number = Double.parseDouble(matcher.group(group));
        return switch (matcher.group(group + 1)) {
            case "" -> number / (1 << 20);
            case "K" -> number / (1 << 10);
            case "M" -> number;
            case "G" -> number * (1 << 10);
            default -> number * (1 << 20);
        };
    }
}
