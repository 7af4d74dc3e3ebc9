// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.text.Quantities;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Check of the disk tier's room in Spark's local directories.
 *
 * <p><b>Threading:</b> stateless.
 */
final class DiskCheck {
    private static final String CHECK = "disk-tier";

    private DiskCheck() {}

    static List<Finding> run(Host host, Settings settings) {
        if (!settings.config().get(ShuffleConfig.DISK_ENABLED)) {
            return List.of(Finding.ok(
                    CHECK,
                    "spark.shuffle.rdma.disk.enabled=false: output that does not fit in the pool"
                            + " becomes Spark's shuffle files"));
        }
        List<Finding> findings = new ArrayList<>();
        for (String directory : localDirectories(host, settings).split(",", -1)) {
            findings.add(directory(host, directory.strip(), settings.config().get(ShuffleConfig.DISK_MIN_FREE)));
        }
        return findings;
    }

    /** As Spark chooses them; YARN and a standalone worker set a variable of the executor's environment. */
    private static String localDirectories(Host host, Settings settings) {
        String byDefault = settings.spark().text("spark.local.dir", host.property("java.io.tmpdir"));
        return host.environment()
                .getOrDefault("LOCAL_DIRS", host.environment().getOrDefault("SPARK_LOCAL_DIRS", byDefault));
    }

    private static Finding directory(Host host, String directory, long minFree) {
        Place place = host.places().at(existing(host, Path.of(directory).toAbsolutePath()));
        if (!place.problem().isEmpty()) {
            return Finding.wrong(
                    CHECK,
                    Effect.LESS,
                    "no file can be created in " + directory + " (" + place.problem() + ")",
                    "let user " + host.property("user.name") + " write there, or name other directories in"
                            + " spark.local.dir (YARN: yarn.nodemanager.local-dirs)");
        }
        String message = Quantities.mebibytes(place.freeBytes()) + " are free in " + directory + " (" + place.type()
                + "), of which " + Quantities.mebibytes(minFree) + " stay free";
        Finding finding = place.freeBytes() > minFree
                ? Finding.ok(CHECK, message)
                : Finding.wrong(
                        CHECK,
                        Effect.LESS,
                        message + ": it takes no map outputs",
                        "free some space, name a larger disk in spark.local.dir, or lower"
                                + " spark.shuffle.rdma.disk.minFree");
        return finding.with("directory", directory).with("freeBytes", place.freeBytes());
    }

    /** Spark creates directories that are not there yet. */
    private static Path existing(Host host, Path directory) {
        Path path = directory;
        while (!host.places().at(path).exists() && path.getParent() != null) {
            path = path.getParent();
        }
        return path;
    }
}
