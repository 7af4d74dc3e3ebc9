// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A folder that Spark takes for its installation, one for each line of Spark, made of links to the jars that Maven
 * resolved, to the plugin's jar and to that of this module.
 *
 * <p>{@code local-cluster} starts its executors from {@code SPARK_HOME/jars}; it needs no more than those jars, an
 * empty {@code bin} and a {@code RELEASE} file. The plugin's jar lies among them, as it would after a user put it
 * there. Jobs of other modules come with jars of their own, on the class path of driver and executors.
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

    /** Returns the home of the line that this virtual machine was started for. */
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
        Files.createDirectories(folder.resolve("bin"));
        Files.deleteIfExists(folder.resolve("RELEASE"));
        for (Path old : Workspace.jarsIn(jars)) {
            Files.delete(old);
        }
        // What executors of earlier builds left: logs, and copies of submitted jars.
        Workspace.deleteTree(folder.resolve("work"));
        Path plugin = workspace.pluginJar();
        link(jars, plugin);
        link(jars, workspace.jar(MODULE));
        for (Path jar : classPath(workspace, line)) {
            boolean ours = jar.startsWith(workspace.root());
            if (!ours) {
                link(jars, jar);
            }
        }
        writeLogging(Files.createDirectories(folder.resolve("conf")));
        Files.writeString(
                folder.resolve("RELEASE"),
                "Spark " + line + " from Maven artifacts, with " + plugin.getFileName() + "\n");
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
     * Returns a class path, with the JVM's own wildcard, of Spark's configuration, Spark, the plugin, and this module.
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
