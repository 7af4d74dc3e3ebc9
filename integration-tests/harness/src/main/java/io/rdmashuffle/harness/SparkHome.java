// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Spark installation of one Spark version, made of links to the jars that Maven resolved.
 *
 * <p>It has Spark's jars, {@code bin/spark-submit}, {@code bin/spark-class} and a {@code RELEASE} file, which is what
 * {@code local-cluster}, spark-submit and the daemons need. The plugin's jar is not part of it: an application brings
 * it in one of the ways of the README, see {@link JavaProcess#application} and {@code SparkCluster}.
 *
 * <p><b>Threading:</b> immutable; assembling is not safe against another process doing the same.
 *
 * @param folder the home, absolute
 * @param line whose jars it has
 */
public record SparkHome(Path folder, SparkLine line) {
    private static final String MODULE = "harness";

    /** Called with the repository's folder and the name of a line: assembles its home. */
    public static void main(String[] args) throws IOException {
        if (args.length != 2) {
            throw new IllegalArgumentException("usage: SparkHome REPOSITORY LINE");
        }
        assemble(new Workspace(Path.of(args[0])), new SparkLine(args[1]));
    }

    /** Returns the home of the Spark version that this JVM was started for. */
    public static SparkHome of(Workspace workspace) {
        SparkHome home = of(workspace, SparkLine.current());
        if (!Files.isRegularFile(home.folder.resolve("RELEASE"))) {
            throw new IllegalStateException("no Spark home in " + home.folder
                    + "; run: mvn -DskipTests package, or for another line than its bin/demo " + home.line.option());
        }
        return home;
    }

    private static SparkHome of(Workspace workspace, SparkLine line) {
        return new SparkHome(workspace.target(MODULE).resolve("spark-home-" + line), line);
    }

    /** Makes a home anew from the class path that Maven wrote; {@code RELEASE} is written last. */
    private static void assemble(Workspace workspace, SparkLine line) throws IOException {
        SparkHome home = of(workspace, line);
        Path folder = home.folder;
        Path jars = Files.createDirectories(folder.resolve("jars"));
        writeCommands(Files.createDirectories(folder.resolve("bin")));
        Files.deleteIfExists(folder.resolve("RELEASE"));
        for (Path old : Workspace.jarsIn(jars)) {
            Files.delete(old);
        }
        // What executors of earlier builds left: logs, and copies of submitted jars.
        Workspace.deleteTree(folder.resolve("work"));
        for (Path jar : classPath(workspace, line)) {
            boolean ours = jar.startsWith(workspace.root());
            if (!ours) {
                link(jars, jar);
            }
        }
        writeLogging(Files.createDirectories(folder.resolve("conf")));
        Files.writeString(folder.resolve("RELEASE"), "Spark " + line + " from Maven artifacts\n");
    }

    /** Writes the two scripts that Spark's own installations have; Maven artifacts lack them. */
    private static void writeCommands(Path bin) throws IOException {
        for (String name : List.of("spark-class", "spark-submit")) {
            try (InputStream script = SparkHome.class.getResourceAsStream(name)) {
                if (script == null) {
                    throw new IOException(name + " is not beside " + SparkHome.class.getName());
                }
                Path command = bin.resolve(name);
                Files.copy(script, command, StandardCopyOption.REPLACE_EXISTING);
                Files.setPosixFilePermissions(command, PosixFilePermissions.fromString("rwxr-xr-x"));
            }
        }
    }

    /** Drivers and executors find it on their class path: Spark puts its home's conf folder there. */
    private static void writeLogging(Path conf) throws IOException {
        try (InputStream quiet = SparkHome.class.getResourceAsStream("log4j2-quiet.properties")) {
            if (quiet == null) {
                throw new IOException("log4j2-quiet.properties is not beside " + SparkHome.class.getName());
            }
            Files.copy(quiet, conf.resolve("log4j2.properties"), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private static List<Path> classPath(Workspace workspace, SparkLine line) throws IOException {
        String listed = Files.readString(workspace.target(MODULE).resolve("spark-classpath-" + line + ".txt"));
        List<Path> jars = new ArrayList<>();
        for (String entry : listed.strip().split(File.pathSeparator, -1)) {
            Path path = Path.of(entry);
            if (entry.endsWith(".jar") && Files.isRegularFile(path)) {
                jars.add(path);
            }
        }
        return jars;
    }

    private static void link(Path jars, Path jar) throws IOException {
        String name = jar.getFileName().toString();
        Path link = jars.resolve(name);
        for (int number = 2; Files.exists(link); number++) {
            // Two artifacts of different groups may share a file name.
            link = jars.resolve(number + "-" + name);
        }
        Files.createSymbolicLink(link, jar);
    }

    /**
     * Returns the class path of Spark's configuration and Spark, with the JVM's own wildcard; the plugin is not on it.
     */
    public String classPath() {
        return folder.resolve("conf") + File.pathSeparator + folder.resolve("jars") + File.separator + "*";
    }

    /** Returns the folder in which {@code local-cluster} keeps the executors' standard output and error. */
    public Path executorLogs() {
        return folder.resolve("work");
    }

    /** Returns what Spark expects in the environment of a driver. */
    public Map<String, String> environment() {
        Map<String, String> environment = new LinkedHashMap<>();
        environment.put("SPARK_HOME", folder.toString());
        environment.put("SPARK_SCALA_VERSION", line.scalaVersion());
        environment.put("SPARK_LOCAL_IP", "127.0.0.1");
        return environment;
    }
}
