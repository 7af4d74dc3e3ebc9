// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.FabricMode;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Check whether the application would start with its settings, load this shuffle, and allow RDMA.
 *
 * <p><b>Threading:</b> stateless.
 */
final class SettingsCheck {
    /** Keys of this plugin. */
    private static final String KEYS = "configuration";

    /** Keys of Spark. */
    private static final String SPARK = "spark-settings";

    private SettingsCheck() {}

    static List<Finding> run(Settings settings) {
        List<Finding> findings = new ArrayList<>();
        if (settings.origin().isEmpty()) {
            findings.add(Finding.ok(KEYS, "no settings are given (--conf-file, --conf): defaults are looked at"));
            return findings;
        }
        settings.problems()
                .forEach(problem -> findings.add(Finding.wrong(
                        KEYS,
                        Effect.NO_START,
                        problem,
                        "correct or remove the key in " + settings.origin()
                                + "; docs/configuration.md lists all keys and their ranges")));
        if (findings.isEmpty()) {
            long ours = settings.given().keySet().stream()
                    .filter(key -> key.startsWith("spark.shuffle.rdma."))
                    .count();
            findings.add(
                    Finding.ok(KEYS, ours + " keys of spark.shuffle.rdma.* in " + settings.origin() + ", all valid"));
        }
        manager(settings, findings);
        mode(settings, findings);
        split(SPARK, Effect.SORT_SHUFFLE, settings.spark().reasonForSort().orElse(""), findings);
        split(SPARK, Effect.NO_RDMA, settings.spark().reasonAgainstOpenBytes().orElse(""), findings);
        allocation(settings.spark(), findings);
        return findings;
    }

    private static void manager(Settings settings, List<Finding> findings) {
        String manager = settings.spark().text(SparkSettings.MANAGER_KEY, "");
        String remedy = "set " + SparkSettings.MANAGER_KEY + "=" + SparkSettings.MANAGER + " in " + settings.origin();
        if (manager.equals(SparkSettings.MANAGER)) {
            findings.add(Finding.ok(SPARK, SparkSettings.MANAGER_KEY + " names this shuffle"));
        } else if (manager.startsWith("io.rdmashuffle.")) {
            findings.add(Finding.wrong(
                    SPARK,
                    Effect.NO_START,
                    SparkSettings.MANAGER_KEY + "=" + manager + ": there is no such class",
                    remedy));
        } else {
            findings.add(Finding.wrong(
                    SPARK,
                    Effect.SORT_SHUFFLE,
                    SparkSettings.MANAGER_KEY + (manager.isEmpty() ? " is not set" : "=" + manager)
                            + ": Spark does not load this shuffle",
                    remedy));
        }
    }

    private static void mode(Settings settings, List<Finding> findings) {
        FabricMode mode = settings.config().get(ShuffleConfig.FABRIC_MODE);
        String remedy = "set spark.shuffle.rdma.fabric.mode=auto, or remove the key";
        if (mode == FabricMode.SORT) {
            findings.add(Finding.wrong(
                    KEYS, Effect.SORT_SHUFFLE, "spark.shuffle.rdma.fabric.mode=sort: no pool, no RDMA", remedy));
        } else if (mode == FabricMode.SHM || mode == FabricMode.TCP || mode == FabricMode.NETTY) {
            findings.add(Finding.wrong(
                    KEYS,
                    Effect.NO_RDMA,
                    "spark.shuffle.rdma.fabric.mode=" + mode.name().toLowerCase(Locale.ROOT) + " rules out RDMA",
                    remedy));
        }
    }

    /** Adds a reason whose remedy stands after its last semicolon. */
    private static void split(String check, Effect effect, String reason, List<Finding> findings) {
        int end = reason.lastIndexOf("; ");
        if (end > 0) {
            findings.add(Finding.wrong(check, effect, reason.substring(0, end), reason.substring(end + 2)));
        }
    }

    /** Settings that Spark itself refuses. */
    private static void allocation(SparkSettings spark, List<Finding> findings) {
        if (spark.mayReleaseNeededExecutors()) {
            findings.add(Finding.wrong(
                    SPARK,
                    Effect.NO_START,
                    "spark.dynamicAllocation.enabled=true without anything that keeps map outputs: Spark refuses it",
                    "set spark.dynamicAllocation.shuffleTracking.enabled=true"));
        }
    }
}
