// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.ConfigException;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.doctor.report.MisuseException;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The settings of the application that the doctor is asked about.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param origin their source, for messages; empty for defaults only
 * @param given by key
 * @param config the resulting configuration; defaults for invalid keys
 * @param problems one line per invalid setting
 * @param executors number of executors per host
 * @param peers RDMA addresses of other hosts that must answer
 */
record Settings(
        String origin,
        Map<String, String> given,
        ShuffleConfig config,
        List<String> problems,
        int executors,
        List<String> peers) {

    /** Reads settings that are at hand. */
    static Settings of(String origin, Map<String, String> given, int executors) {
        try {
            return new Settings(origin, given, ShuffleConfig.read(given), List.of(), executors, List.of());
        } catch (ConfigException e) {
            return new Settings(origin, given, withoutBroken(given, e.problems()), e.problems(), executors, List.of());
        }
    }

    /** Reads the settings without the keys named in problems, for the other checks. */
    private static ShuffleConfig withoutBroken(Map<String, String> given, List<String> problems) {
        Map<String, String> sound = new TreeMap<>(given);
        sound.keySet()
                .removeIf(key -> problems.stream()
                        .anyMatch(problem -> problem.startsWith(key + ":") || problem.startsWith(key + "=")));
        try {
            return ShuffleConfig.read(sound);
        } catch (ConfigException e) {
            return ShuffleConfig.read(Map.of());
        }
    }

    /**
     * Reads a file in the format of spark-defaults.conf, and settings that go before it.
     *
     * @param file null if there is none
     * @param settings {@code key=value}
     * @throws MisuseException if the file cannot be read, or a setting has no equals sign
     */
    static Settings read(@Nullable Path file, List<String> settings, int executors) throws MisuseException {
        Map<String, String> given = new TreeMap<>();
        if (file != null) {
            Properties properties = new Properties();
            try (Reader reader = Files.newBufferedReader(file)) {
                properties.load(reader);
            } catch (IOException | IllegalArgumentException e) {
                throw new MisuseException("--conf-file " + file + ": cannot be read: " + e, e);
            }
            properties
                    .stringPropertyNames()
                    .forEach(key -> given.put(key, properties.getProperty(key).strip()));
        }
        for (String setting : settings) {
            int equals = setting.indexOf('=');
            if (equals <= 0) {
                throw new MisuseException("--conf " + setting + ": must be KEY=VALUE");
            }
            given.put(
                    setting.substring(0, equals).strip(),
                    setting.substring(equals + 1).strip());
        }
        String origin = file != null ? file.toString() : given.isEmpty() ? "" : "--conf";
        return of(origin, given, executors);
    }

    /** Returns the same with hosts that shall answer. */
    Settings withPeers(List<String> others) {
        return new Settings(origin, given, config, problems, executors, others);
    }

    /** Returns them as Spark's own keys are read. */
    SparkSettings spark() {
        return new SparkSettings(given::get);
    }
}
