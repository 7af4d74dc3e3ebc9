// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.SparkLine;
import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a run of a suite leaves in {@code target/suites}: two logs and its events; and its scratch folder, which goes.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param folder where they are
 * @param name what their names begin with
 */
record SuiteFiles(Path folder, String name) {
    static SuiteFiles of(Suite suite, SuiteProcess.Setting setting) {
        return new SuiteFiles(folder(setting.workspace()), suite.name() + "-" + setting.label());
    }

    /** Returns the folder of all suites of this JVM's Spark version. */
    static Path folder(Workspace workspace) {
        return workspace
                .target("spark-suites")
                .resolve("suites")
                .resolve(SparkLine.current().name());
    }

    /** Returns the folders of unpacked tests jars. */
    static List<Path> classes(Workspace workspace) throws IOException {
        try (Stream<Path> folders = Files.list(folder(workspace).resolve("classes"))) {
            return folders.filter(Files::isDirectory).sorted().toList();
        }
    }

    /** Output of the suite, and warnings of Spark. */
    Path log() {
        return folder.resolve(name + ".log");
    }

    /** End of Spark's log. */
    Path sparkLog() {
        return folder.resolve(name + "-spark.log");
    }

    EventFile events() {
        return new EventFile(folder.resolve(name + "-events.json"));
    }

    /** The suite's working folder: Spark puts warehouses, logs and databases there. */
    Path scratch() {
        return folder.resolve(name + ".scratch");
    }

    Path temporary() {
        return scratch().resolve("target/tmp");
    }

    Path logging() {
        return scratch().resolve("log4j2.properties");
    }

    /** Removes what an earlier run left and makes the scratch folder. */
    void prepare() throws IOException {
        removeScratch();
        Files.deleteIfExists(events().path());
        Files.deleteIfExists(sparkLog());
        Files.createDirectories(temporary());
        try (InputStream logging = SuiteFiles.class.getResourceAsStream("log4j2-suites.properties")) {
            if (logging == null) {
                throw new IOException("log4j2-suites.properties is not beside " + SuiteFiles.class.getName());
            }
            Files.copy(logging, logging(), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    void removeScratch() throws IOException {
        Workspace.deleteTree(scratch());
    }
}
