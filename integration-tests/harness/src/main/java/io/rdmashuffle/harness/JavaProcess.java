// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Builder of a separate JVM process, with this one's {@code java}.
 *
 * <p><b>Threading:</b> build it in one thread. <b>Ownership:</b> the caller that starts the process waits for it or
 * destroys it.
 */
public final class JavaProcess {
    private final List<String> options = new ArrayList<>();
    private final List<String> classPath = new ArrayList<>();
    private final String mainClass;
    private final List<String> arguments;
    private final Map<String, String> environment = new HashMap<>();

    public JavaProcess(String mainClass, String... arguments) {
        this.mainClass = mainClass;
        this.arguments = List.of(arguments);
    }

    /** Adds JVM options. */
    public JavaProcess options(String... more) {
        options.addAll(List.of(more));
        return this;
    }

    /** Adds entries to the class path; {@code folder/*} stands for all jars of a folder. */
    public JavaProcess classPath(String... entries) {
        classPath.addAll(List.of(entries));
        return this;
    }

    /**
     * Adds Spark's module options for Java 17.
     *
     * @param options a blank between two, as {@code JavaModuleOptions.defaultModuleOptions()} of every Spark has them
     */
    public JavaProcess moduleOptions(String options) {
        return options(options.strip().split(" +", -1));
    }

    /** Adds variables to the environment that the process inherits. */
    public JavaProcess environment(Map<String, String> more) {
        environment.putAll(more);
        return this;
    }

    /**
     * Adds the plugin, the harness and the jars of modules to the class paths of this driver and of its executors, as
     * the README has it where a jar lies on every host.
     */
    public JavaProcess application(Workspace workspace, String... modules) {
        String added = workspace.applicationClassPath(modules);
        return classPath(added).options("-Dspark.executor.extraClassPath=" + added);
    }

    /** Adds a Spark home: its jars, its environment, and Spark's module options for Java 17. */
    public JavaProcess spark(SparkHome home, String moduleOptions) {
        environment.putAll(home.environment());
        return moduleOptions(moduleOptions).classPath(home.classPath());
    }

    /** Returns a builder for the process, so that the caller decides about its streams. */
    public ProcessBuilder builder() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.add("-cp");
        command.add(String.join(File.pathSeparator, classPath));
        command.add(mainClass);
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().putAll(environment);
        return builder;
    }

    /** Runs to the end with all output in one file; fails if the exit code is not 0, naming that file. */
    public void run(Path log, long timeoutSeconds) throws IOException, InterruptedException {
        Process process = builder()
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
        // A killed parent must not leave a child behind that goes on writing.
        Thread endOfParent = new Thread(process::destroyForcibly, "destroy-" + process.pid());
        Runtime.getRuntime().addShutdownHook(endOfParent);
        try {
            if (!process.waitFor(timeoutSeconds, TimeUnit.SECONDS)) {
                throw new IOException(mainClass + " did not end within " + timeoutSeconds + " s; see " + log);
            }
        } finally {
            process.destroyForcibly();
            Runtime.getRuntime().removeShutdownHook(endOfParent);
        }
        if (process.exitValue() != 0) {
            throw new IOException(mainClass + " failed with exit code " + process.exitValue() + "; see " + log);
        }
    }
}
