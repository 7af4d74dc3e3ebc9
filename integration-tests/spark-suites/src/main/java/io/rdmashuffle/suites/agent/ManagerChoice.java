// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites.agent;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkConf;

/**
 * Which settings every application of the suite gets: the system properties that start with {@link #PREFIX}.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class ManagerChoice {
    /** Prefix of the Spark keys that the command chooses. */
    public static final String PREFIX = "rdmashuffle.suites.conf.";

    private static final String MANAGER = "spark.shuffle.manager";
    private static final Set<String> SPARKS_OWN =
            Set.of("sort", "tungsten-sort", "org.apache.spark.shuffle.sort.sortshufflemanager");

    private ManagerChoice() {}

    /**
     * Chooses the manager in place of Spark's own, also where a suite asks for {@code sort} by name; a suite that
     * brings a manager of its own keeps that. Other keys are chosen only where a suite leaves them open.
     */
    public static void apply(SparkConf conf) {
        for (Map.Entry<Object, Object> property : System.getProperties().entrySet()) {
            if (property.getKey() instanceof String name && name.startsWith(PREFIX)) {
                String key = name.substring(PREFIX.length());
                if (!conf.contains(key) || (key.equals(MANAGER) && isSparksOwn(conf.get(key)))) {
                    conf.set(key, property.getValue().toString());
                }
            }
        }
    }

    private static boolean isSparksOwn(String manager) {
        return SPARKS_OWN.contains(manager.toLowerCase(Locale.ROOT));
    }
}
