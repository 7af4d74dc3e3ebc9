// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.report;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Everything that was found on one host, and what follows from it.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param version of this jar
 * @param host its name
 * @param findings in the order of the checks
 */
public record HostReport(String version, String host, List<Finding> findings) {
    /** Grows when a field of the JSON document goes or changes its meaning, not when one is added. */
    private static final int FORMAT = 1;

    private static final int WIDTH_OF_CHECK = 18;
    private static final String INDENT = " ".repeat(5 + WIDTH_OF_CHECK);

    public HostReport {
        findings = List.copyOf(findings);
    }

    /** Returns the worst effect of all findings. */
    public Effect effect() {
        return findings.stream()
                .map(Finding::effect)
                .max(Comparator.naturalOrder())
                .orElse(Effect.NONE);
    }

    /** Returns 0, 1 or 2. */
    public int exitCode() {
        return effect().exitCode();
    }

    /** Returns whether RDMA would be used on this host. */
    public boolean rdma() {
        return effect().compareTo(Effect.NO_RDMA) < 0;
    }

    /** Returns the conclusion, in one sentence. */
    public String verdict() {
        String why = " (" + String.join(", ", checksWith(effect())) + ")";
        return switch (effect()) {
            case NONE -> "RDMA works on this host.";
            case LESS -> "RDMA works on this host, with less than it could have" + why + ".";
            case NO_RDMA ->
                "RDMA is not used on this host" + why + ": shared memory and TCP or Netty serve, and jobs are slower.";
            case SORT_SHUFFLE -> "Spark's sort shuffle serves the application" + why + ".";
            case NO_START -> "The application does not start" + why + ".";
        };
    }

    private List<String> checksWith(Effect effect) {
        return findings.stream()
                .filter(finding -> finding.effect() == effect)
                .map(Finding::check)
                .distinct()
                .toList();
    }

    /** Writes one line for each finding, with its remedy below, and what follows at the end. */
    public String text() {
        List<String> lines = new ArrayList<>();
        lines.add("rdma-shuffle-spark " + version + ": doctor of host " + host);
        for (Finding finding : findings) {
            lines.add(String.format(
                    "%-5s%-" + WIDTH_OF_CHECK + "s%s",
                    finding.effect().status(),
                    finding.check(),
                    finding.message().replace("\n", "\n" + INDENT)));
            if (!finding.remedy().isEmpty()) {
                lines.add(INDENT + "remedy: " + finding.remedy().replace("\n", "\n" + INDENT));
            }
        }
        lines.add(verdict() + " Exit code " + exitCode() + ".");
        return String.join("\n", lines);
    }

    /** Writes one JSON document with the names that docs/operations.md lists. */
    public String json() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("format", FORMAT);
        document.put("version", version);
        document.put("host", host);
        document.put("exitCode", exitCode());
        document.put("effect", effect().word());
        document.put("rdma", rdma());
        document.put("verdict", verdict());
        document.put("findings", findings.stream().map(HostReport::fields).toList());
        return Json.write(document);
    }

    private static Map<String, Object> fields(Finding finding) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("check", finding.check());
        fields.put("status", finding.effect().status());
        fields.put("effect", finding.effect().word());
        fields.put("message", finding.message());
        fields.put("remedy", finding.remedy());
        fields.put("facts", finding.facts());
        return fields;
    }
}
