// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.link.LinkModel;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of {@code bin/bench remote} and what follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
final class RemoteOptions extends ShuffleOptions {
    private static final double MAX_GIGABITS = 10_000;
    private static final double MAX_DELAY_MICROS = 1e6;

    @Option(
            names = "--gigabits",
            order = FIRST,
            paramLabel = "N",
            description = "What the link of each executor carries in a second, in Gb. Default: ${DEFAULT-VALUE}")
    private double gigabits = 100;

    @Option(
            names = "--delay",
            order = FIRST,
            paramLabel = "MICROSECONDS",
            description = "From posting a READ to its first byte, when the link is idle. Default: ${DEFAULT-VALUE}")
    private double delayMicros = 5;

    @Option(
            names = "--unmodelled",
            order = FIRST,
            description = "Copy as fast as this machine does, without the model of a link")
    private boolean unmodelled;

    @Override
    public void check() {
        super.check();
        between("--gigabits", gigabits, 0.001, MAX_GIGABITS);
        between("--delay", delayMicros, 0, MAX_DELAY_MICROS);
    }

    private static void between(String option, double value, double least, double most) {
        if (!(value >= least && value <= most)) {
            throw new IllegalArgumentException(option + " " + value + ": allowed is " + least + " to " + most);
        }
    }

    /** Returns the link of executors with ours; null if there is none. */
    @Nullable
    LinkModel link() {
        return unmodelled ? null : new LinkModel(gigabits, delayMicros);
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        LinkModel link = link();
        settings.put("link", link == null ? "none" : link.toString());
        return settings;
    }

    /** {@inheritDoc} No byte of another executor is seen where it lies, nor read from this host's disks. */
    @Override
    Map<String, String> conf(Configuration configuration, Path localDir, Path warehouse, GarbageLog garbage) {
        Map<String, String> conf = super.conf(configuration, localDir, warehouse, garbage);
        conf.put("spark.shuffle.readHostLocalDisk", "false");
        LinkModel link = link();
        if (configuration == Configuration.OURS && link != null) {
            conf.putAll(link.settings());
        } else if (configuration == Configuration.OURS) {
            conf.put("spark.shuffle.rdma.fabric.shm.inPlace", "false");
        }
        return conf;
    }
}
