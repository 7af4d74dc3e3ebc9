// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.link.LinkModel;
import io.rdmashuffle.harness.ShuffleMode;
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
            description = "Bandwidth of each executor's link, in Gb/s. Default: ${DEFAULT-VALUE}")
    private double gigabits = 100;

    @Option(
            names = "--delay",
            order = FIRST,
            paramLabel = "MICROSECONDS",
            description = "Latency from posting a READ to its first byte on an idle link. Default: ${DEFAULT-VALUE}")
    private double delayMicros = 5;

    @Option(
            names = "--link",
            order = FIRST,
            paramLabel = "GBITS",
            description = "Run in a network namespace whose loopback device carries this many Gb/s in total: all"
                    + " configurations, both directions together; needs root, and --fabric tcp or netty")
    private double link;

    @Option(
            names = "--unmodelled",
            order = FIRST,
            description = "Copy at the speed of this machine, without the model of a link")
    private boolean unmodelled;

    @Override
    public void check() {
        super.check();
        if (link != 0 && !isOverLoopback()) {
            throw new IllegalArgumentException("--link " + link + " needs --fabric tcp or netty");
        }
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
    LinkModel model() {
        return !isOverLoopback() && !unmodelled ? new LinkModel(gigabits, delayMicros) : null;
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        LinkModel model = model();
        settings.put("link", model != null ? model.toString() : link == 0 ? "none" : link + " Gb/s, loopback");
        return settings;
    }

    /** {@inheritDoc} No byte of another executor is seen where it lies, nor read from this host's disks. */
    @Override
    Map<String, String> conf(Configuration configuration, Path localDir, Path warehouse, GarbageLog garbage) {
        Map<String, String> conf = super.conf(configuration, localDir, warehouse, garbage);
        conf.put("spark.shuffle.readHostLocalDisk", "false");
        if (configuration == Configuration.OURS) {
            conf.putAll(ours());
        }
        return conf;
    }

    private Map<String, String> ours() {
        if (isOverLoopback()) {
            return Map.of();
        }
        LinkModel model = model();
        return model == null ? Map.of("spark.shuffle.rdma.fabric.shm.inPlace", "false") : model.settings();
    }

    /** Returns whether ours reaches its peers over the loopback device, rather than over the model of a link. */
    private boolean isOverLoopback() {
        return fabric() == ShuffleMode.TCP || fabric() == ShuffleMode.NETTY;
    }
}
