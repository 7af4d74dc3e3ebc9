// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link.lines;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jboss.shrinkwrap.resolver.api.maven.Maven;
import org.jboss.shrinkwrap.resolver.api.maven.ScopeType;

/**
 * Jars of a Spark version, as in the root pom's profile of that name.
 *
 * <p><b>Threading:</b> thread-safe.
 */
enum SparkJars {
    SPARK_3_5_SCALA_2_12("spark-3.5_2.12"),
    SPARK_3_5_SCALA_2_13("spark-3.5_2.13"),
    SPARK_4_0("spark-4.0"),
    SPARK_4_1("spark-4.1"),
    SPARK_4_2("spark-4.2"),
    PREVIEW("preview");

    /** Of this project. */
    static final Path ROOT = Path.of(System.getProperty("rdmashuffle.root"));

    private static final Map<SparkJars, List<Path>> JARS = new ConcurrentHashMap<>();

    private final String profile;

    SparkJars(String profile) {
        this.profile = profile;
    }

    /** Returns what {@code spark/pom.xml} asks for with this profile: of Maven's cache, or at first the network. */
    List<Path> jars() {
        return JARS.computeIfAbsent(
                this,
                line -> Stream.of(Maven.configureResolver()
                                .loadPomFromFile(
                                        ROOT.resolve("integration-tests/link/spark/pom.xml")
                                                .toFile(),
                                        profile)
                                .importDependencies(ScopeType.COMPILE, ScopeType.RUNTIME)
                                .resolve()
                                .withTransitivity()
                                .asFile())
                        .map(File::toPath)
                        .toList());
    }

    @Override
    public String toString() {
        return profile;
    }
}
