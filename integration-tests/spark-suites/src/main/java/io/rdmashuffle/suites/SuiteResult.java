// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.suites.SuiteEvent.Kind;
import io.rdmashuffle.suites.agent.ShuffleEvidence;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Result of one suite.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param suite which
 * @param seconds from start to end of its JVM
 * @param passed tests that passed
 * @param failed failures that no exemption covers
 * @param exempt failures that one covers
 * @param skipped tests that were ignored, canceled or pending
 * @param stale names of tests that passed though an exemption says they cannot
 * @param problems problems of the whole suite; with any of them it is not acceptable
 * @param evidence see {@link ShuffleEvidence}
 */
record SuiteResult(
        Suite suite,
        long seconds,
        int passed,
        List<SuiteEvent> failed,
        List<SuiteEvent> exempt,
        List<SuiteEvent> skipped,
        List<String> stale,
        List<String> problems,
        Map<String, Long> evidence) {

    /**
     * Judges a suite.
     *
     * @param ending problem of the JVM's end; empty if none
     * @param exemptions exemptions for this shuffle
     */
    static SuiteResult of(
            Suite suite,
            ShuffleMode fabric,
            long seconds,
            Optional<String> ending,
            List<SuiteEvent> events,
            Exemptions exemptions) {
        List<String> exemptNames = exemptions.testsOf(suite);
        List<SuiteEvent> failures = of(events, Kind.FAILED);
        List<SuiteEvent> passed = of(events, Kind.PASSED);
        List<String> problems = new ArrayList<>();
        ending.ifPresent(problems::add);
        of(events, Kind.ABORTED).forEach(event -> problems.add("aborted: " + event.message()));
        if (passed.isEmpty() && failures.isEmpty()) {
            problems.add("no test ran");
        }
        Map<String, Long> evidence = of(events, Kind.COMPLETED).stream()
                .findFirst()
                .map(SuiteEvent::evidence)
                .orElse(Map.of());
        SuiteResult result = new SuiteResult(
                suite,
                seconds,
                passed.size(),
                failures.stream()
                        .filter(event -> !exemptNames.contains(event.test()))
                        .toList(),
                failures.stream()
                        .filter(event -> exemptNames.contains(event.test()))
                        .toList(),
                of(events, Kind.SKIPPED),
                passed.stream()
                        .map(SuiteEvent::test)
                        .filter(exemptNames::contains)
                        .toList(),
                problems,
                evidence);
        result.wrongManager(fabric, exemptions.mayShuffleElsewhere(suite)).ifPresent(problems::add);
        result.stale().forEach(test -> problems.add("'" + test + "' passed; it needs no exemption"));
        return result;
    }

    private static List<SuiteEvent> of(List<SuiteEvent> events, Kind kind) {
        return events.stream().filter(event -> event.kind() == kind).toList();
    }

    private Optional<String> wrongManager(ShuffleMode fabric, boolean mayBeElsewhere) {
        boolean sort = fabric == ShuffleMode.SORT;
        String manager = sort ? "sort shuffle" : "ours";
        long others = shuffles() - (sort ? shufflesElsewhere() : shufflesOfOurs());
        if (mayBeElsewhere) {
            return others > 0
                    ? Optional.empty()
                    : Optional.of(
                            "all " + shuffles() + " shuffles went through " + manager + "; it needs no exemption");
        }
        return others == 0
                ? Optional.empty()
                : Optional.of("of " + shuffles() + " shuffles " + others + " did not go through " + manager);
    }

    boolean acceptable() {
        return failed.isEmpty() && problems.isEmpty();
    }

    /** Shuffles that the RDMA shuffle took. */
    long shufflesOfOurs() {
        return evidence.getOrDefault(ShuffleEvidence.OURS, 0L);
    }

    /** Shuffles that the RDMA shuffle left to sort shuffle for a setting of the suite. */
    long shufflesFellBack() {
        return evidence.getOrDefault(ShuffleEvidence.FELL_BACK, 0L);
    }

    /** Shuffles of other managers. */
    long shufflesElsewhere() {
        return evidence.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(ShuffleEvidence.OTHER))
                .mapToLong(Map.Entry::getValue)
                .sum();
    }

    long shuffles() {
        return shufflesOfOurs() + shufflesFellBack() + shufflesElsewhere();
    }

    long counter(ShuffleCounter counter) {
        return evidence.getOrDefault(ShuffleEvidence.COUNTER + counter.label(), 0L);
    }
}
