// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import io.rdmashuffle.bench.FolderOptions;
import io.rdmashuffle.bench.GarbageLog;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Option;

/**
 * The options of benches that run jobs, and the configuration of their applications.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
public abstract class JobOptions extends FolderOptions {
    private static final String JAVA_OPTIONS = "spark.executor.extraJavaOptions";

    @Option(
            names = "--rows",
            order = FIRST,
            paramLabel = "N",
            description =
                    "Rows of 100 B of a case, over all map tasks; of 1 KB rows a tenth. Default: ${DEFAULT-VALUE}")
    private long rows;

    /** Starts with the defaults, of which that of the rows is given. */
    protected JobOptions(long defaultRows) {
        this.rows = defaultRows;
    }

    @Override
    public void check() {
        super.check();
        atLeast("--rows", rows(), 1);
    }

    public final long rows() {
        return rows;
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        settings.put("rows", rows());
        return settings;
    }

    /**
     * Returns the configuration of an application, ours or one of sort shuffle. Compression is left at the defaults of
     * Spark and of our shuffle.
     */
    protected final Map<String, String> jobConf(
            String application, boolean ours, Path localDir, Path warehouse, GarbageLog garbage) {
        Map<String, String> wanted = new LinkedHashMap<>();
        wanted.put("spark.app.name", "bench-" + application);
        wanted.put("spark.local.dir", localDir.toString());
        wanted.put("spark.sql.warehouse.dir", warehouse.toString());
        wanted.put("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
        // It would make fewer partitions than the case is about.
        wanted.put("spark.sql.adaptive.enabled", "false");
        wanted.put("spark.sql.autoBroadcastJoinThreshold", "-1");
        Map<String, String> all = complete(wanted, ours);
        all.merge(JAVA_OPTIONS, garbage.option(), (given, log) -> given + " " + log);
        return all;
    }
}
