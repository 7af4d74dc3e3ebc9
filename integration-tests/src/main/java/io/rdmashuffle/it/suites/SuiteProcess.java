package io.rdmashuffle.it.suites;

import io.rdmashuffle.it.JavaProcess;
import io.rdmashuffle.it.SparkHome;
import io.rdmashuffle.it.Workspace;
import io.rdmashuffle.it.suites.agent.ManagerChoice;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.spark.launcher.JavaModuleOptions;

/**
 * Runs one suite in a virtual machine of its own, set up as Spark's build sets up its tests.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> when {@link #run} returns or throws, no process is left of it.
 */
final class SuiteProcess {
    private static final long POLL_MILLIS = 250;

    private final Suite suite;
    private final Setting setting;
    private final SuiteFiles files;

    SuiteProcess(Suite suite, Setting setting) {
        this.suite = suite;
        this.setting = setting;
        this.files = SuiteFiles.of(suite, setting);
    }

    /**
     * What all suites of a run share.
     *
     * @param conf what every application of a suite gets
     * @param label of the shuffle, for names of files
     * @param test runs only tests with this in their names; empty for all
     * @param timeout of one suite
     */
    record Setting(Workspace workspace, Map<String, String> conf, String label, String test, Duration timeout) {}

    /** How a virtual machine ended: seconds, and what was wrong about it. */
    record Ending(long seconds, Optional<String> problem) {}

    /**
     * Runs the suite to its end or to the time limit.
     *
     * @param watcher gets all events so far, now and then
     */
    Ending run(Consumer<List<SuiteEvent>> watcher) throws IOException, InterruptedException {
        files.prepare();
        ProcessFamily family = new ProcessFamily();
        Thread endOfParent = new Thread(family::kill, "kill-" + suite.name());
        Runtime.getRuntime().addShutdownHook(endOfParent);
        long started = System.nanoTime();
        try {
            ProcessBuilder builder = builder();
            family.adopt(builder);
            Process process = builder.start();
            boolean ended = await(process, started, watcher);
            long seconds = Math.round((System.nanoTime() - started) / 1e9);
            return new Ending(seconds, ended ? problem(process) : Optional.of(timedOut()));
        } finally {
            family.kill();
            Runtime.getRuntime().removeShutdownHook(endOfParent);
            files.removeScratch();
        }
    }

    private boolean await(Process process, long started, Consumer<List<SuiteEvent>> watcher)
            throws IOException, InterruptedException {
        while (!process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
            watcher.accept(files.events().read());
            if (System.nanoTime() - started > setting.timeout().toNanos()) {
                return false;
            }
        }
        return true;
    }

    private String timedOut() throws IOException {
        return "killed after " + setting.timeout().toSeconds() + " s" + during();
    }

    private Optional<String> problem(Process process) throws IOException {
        boolean completed = files.events().read().stream().anyMatch(event -> event.kind() == SuiteEvent.Kind.COMPLETED);
        return completed
                ? Optional.empty()
                : Optional.of("ended early with exit code " + process.exitValue() + during());
    }

    private String during() throws IOException {
        return RunningTest.of(files.events().read())
                .map(test -> ", in '" + test + "'")
                .orElse("");
    }

    SuiteFiles files() {
        return files;
    }

    private ProcessBuilder builder() throws IOException {
        SparkHome home = SparkHome.of(setting.workspace());
        JavaProcess java = suite.engine() == Suite.Engine.SCALATEST
                ? new JavaProcess("org.scalatest.tools.Runner", scalaTestArguments())
                : new JavaProcess(JUnitSuite.class.getName(), suite.className());
        ProcessBuilder builder = java.options(options(home).toArray(String[]::new))
                .options(JavaModuleOptions.defaultModuleOptionArray())
                .classPath(System.getProperty("java.class.path"))
                .builder();
        builder.environment().putAll(home.environment());
        builder.environment().put("SPARK_TESTING", "1");
        return builder.directory(files.scratch().toFile())
                .redirectErrorStream(true)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(files.log().toFile());
    }

    private String[] scalaTestArguments() {
        List<String> arguments = new ArrayList<>(List.of(
                // No class loader of its own: the suites are on the class path, as executors need them there.
                "-R",
                files.scratch().toString(),
                "-oDW",
                "-C",
                ScalaTestReporter.class.getName(),
                "-l",
                "org.apache.spark.tags.ChromeUITest",
                "-s",
                suite.className()));
        if (!setting.test().isEmpty()) {
            arguments.addAll(List.of("-z", setting.test()));
        }
        return arguments.toArray(String[]::new);
    }

    /** Returns what Spark's own pom gives its tests, except for the second compiler: suites are mostly class loading. */
    private List<String> options(SparkHome home) {
        List<String> options = new ArrayList<>(List.of(
                "-javaagent:" + setting.workspace().testsJar(),
                files.events().option(),
                "-ea",
                "-Xmx4g",
                "-Xss4m",
                "-XX:MaxMetaspaceSize=2g",
                "-XX:ReservedCodeCacheSize=128m",
                "-XX:TieredStopAtLevel=1",
                "-Dio.netty.allocator.type=pooled",
                "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
                "-Dlog4j2.configurationFile=" + files.logging(),
                "-Drdmashuffle.suites.log=" + files.sparkLog(),
                "-Drdmashuffle.root=" + setting.workspace().root(),
                "-Dderby.system.durability=test",
                "-Djava.awt.headless=true",
                "-Djava.io.tmpdir=" + files.temporary(),
                "-Dspark.hadoop.hadoop.caller.context.enabled=true",
                "-Dspark.test.home=" + home.folder(),
                "-Dspark.testing=1",
                "-Dspark.ui.enabled=false",
                "-Dspark.ui.showConsoleProgress=false",
                "-Dspark.unsafe.exceptionOnMemoryLeak=true",
                "-Dtest.src.tables=__not_used__"));
        setting.conf().forEach((key, value) -> options.add("-D" + ManagerChoice.PREFIX + key + "=" + value));
        return options;
    }
}
