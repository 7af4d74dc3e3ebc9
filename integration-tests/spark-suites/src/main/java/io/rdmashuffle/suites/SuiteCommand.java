// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.suites.agent.ManagerChoice;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.launcher.JavaModuleOptions;

/**
 * The command that runs one suite, set up as Spark's build sets up its tests.
 *
 * <p><b>Threading:</b> immutable.
 */
record SuiteCommand(Suite suite, SuiteProcess.Setting setting, SuiteFiles files) {
    /** Executors inherit these by the environment: the life of most of them is class loading, on few cores. */
    private static final String LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

    ProcessBuilder builder() {
        SparkHome home = SparkHome.of(setting.workspace());
        JavaProcess java = suite.engine() == Suite.Engine.SCALATEST
                ? new JavaProcess("org.scalatest.tools.Runner", scalaTestArguments())
                : new JavaProcess(JUnitSuite.class.getName(), suite.className());
        ProcessBuilder builder = java.options(options(home).toArray(String[]::new))
                .moduleOptions(JavaModuleOptions.defaultModuleOptions())
                .classPath(System.getProperty("java.class.path"))
                .builder();
        builder.environment().putAll(home.environment());
        builder.environment().put("SPARK_TESTING", "1");
        builder.environment().put("SPARK_DIST_CLASSPATH", setting.workspace().applicationClassPath("spark-suites"));
        builder.environment().merge("JAVA_TOOL_OPTIONS", LEAN, (given, lean) -> given + " " + lean);
        return builder.directory(files.scratch().toFile())
                .redirectErrorStream(true)
                .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
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
        suite.tests().forEach(test -> arguments.addAll(List.of("-t", test)));
        if (!setting.test().isEmpty()) {
            arguments.addAll(List.of("-z", setting.test()));
        }
        return arguments.toArray(String[]::new);
    }

    /** Returns what Spark's own pom gives its tests. */
    private List<String> options(SparkHome home) {
        List<String> options = new ArrayList<>(List.of(
                "-javaagent:" + setting.workspace().jar("spark-suites"),
                files.events().option(),
                "-ea",
                // Room, too: when the driver collects garbage, Spark removes the shuffles of a job that is over, and
                // SPARK-46957 wants one to stay.
                "-Xms2g",
                "-Xmn1g",
                "-Xmx4g",
                "-Xss4m",
                "-XX:MaxMetaspaceSize=2g",
                "-XX:ReservedCodeCacheSize=128m",
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
        if (suite.engine() == Suite.Engine.JUNIT) {
            // Tests of ours start clusters by themselves.
            options.add(home.line().option());
        }
        suite.conf().forEach((key, value) -> options.add("-D" + ManagerChoice.PREFIX + key + "=" + value));
        setting.conf().forEach((key, value) -> options.add("-D" + ManagerChoice.PREFIX + key + "=" + value));
        return options;
    }
}
