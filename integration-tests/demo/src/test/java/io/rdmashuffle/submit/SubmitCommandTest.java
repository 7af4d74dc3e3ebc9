// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.submit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

@Tag("unit")
class SubmitCommandTest {
    private static final List<String> OURS = List.of(
            "--conf", "spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager",
            "--conf", "spark.shuffle.rdma.fabric.mode=auto");
    private static final String[] PLUGIN = {
        "--driver-class-path", "/plugin.jar", "--conf", "spark.executor.extraClassPath=/plugin.jar"
    };

    @TempDir
    Path folder = Path.of("");

    private String app = "";

    @BeforeEach
    void createApplication() throws IOException {
        app = Files.createFile(folder.resolve("app.jar")).toString();
    }

    private static List<String> arguments(String... given) {
        CommandLine commandLine = new CommandLine(SubmitCommand.spec()).setStopAtPositional(true);
        return SubmitCommand.arguments(commandLine.parseArgs(given), "/plugin.jar");
    }

    @Test
    void oursComeFirstSoThatTheUsersWin() {
        assertThat(arguments("--conf", "spark.x=y", "--class", "C", app, "one"))
                .startsWith(OURS.toArray(String[]::new))
                .containsSubsequence("--master", "local-cluster[2,1,1024]", "--conf", "spark.x=y", "--class", "C")
                .containsSubsequence(PLUGIN)
                .endsWith(app, "one");
    }

    @Test
    void addsThePluginToTheUsersClassPaths() {
        assertThat(arguments(
                        "--driver-class-path",
                        "/old:/mine",
                        "--conf",
                        "spark.executor.extraClassPath=/one",
                        "-c",
                        "spark.executor.extraClassPath=/two:",
                        app))
                .endsWith(
                        "--driver-class-path",
                        "/old:/mine:/plugin.jar",
                        "--conf",
                        "spark.executor.extraClassPath=/two:/plugin.jar",
                        app);
        assertThat(arguments("--conf", "spark.driver.extraClassPath=/mine", app))
                .containsSequence("--driver-class-path", "/mine:/plugin.jar");
    }

    @Test
    void fabricIsOursAndAnyPlaceBeforeTheApplicationWillDo() {
        assertThat(arguments("--class", "C", "--fabric", "sort", "--master", "local[2]", app))
                .startsWith("--conf", "spark.shuffle.manager=sort", "--class", "C", "--master", "local[2]")
                .doesNotContain("--fabric")
                .endsWith(app);
        assertThat(arguments("--fabric=netty", "--class", "C", app))
                .contains("spark.shuffle.rdma.fabric.mode=netty")
                .doesNotContain("--fabric=netty");
    }

    @Test
    void classArchivesAreDefaultsNextToJavaOptions() {
        for (String[] given : List.of(
                new String[] {"--cds-folder", "/archives", "--class", "C"},
                new String[] {"--class", "C", "--cds", "--cds-folder=/archives"})) {
            List<String> all = new ArrayList<>(List.of(given));
            all.addAll(List.of("--conf", "spark.executor.extraJavaOptions=-Xss2m", app, "--cds"));
            List<String> arguments = arguments(all.toArray(String[]::new));
            assertThat(arguments)
                    .anyMatch(each -> each.startsWith(
                            "spark.executor.defaultJavaOptions=\"-XX:SharedArchiveFile=/archives/executor.jsa\""))
                    .anyMatch(each -> each.startsWith(
                            "spark.driver.defaultJavaOptions=\"-XX:SharedArchiveFile=/archives/driver.jsa\""))
                    .contains("spark.executor.extraJavaOptions=-Xss2m")
                    .doesNotContain("--cds-folder", "--cds-folder=/archives")
                    .endsWith(app, "--cds");
            assertThat(arguments.subList(0, arguments.size() - 1)).doesNotContain("--cds");
        }
        assertThat(arguments("--class", "C", app)).noneMatch(each -> each.contains("SharedArchiveFile"));
    }

    @Test
    void argumentsAfterTheJarBelongToTheApplication() {
        assertThat(arguments("--class", "C", app, "--fabric", "sort", "--nonsense", "-v"))
                .contains("spark.shuffle.rdma.fabric.mode=auto")
                .endsWith(app, "--fabric", "sort", "--nonsense", "-v");
    }

    @Test
    void valuesMayLookLikeOptions() {
        assertThat(arguments("--driver-java-options", "-Da=b -Xss2m", "--driver-memory=2g", "-c", "spark.k=v", app))
                .containsSequence("--driver-java-options", "-Da=b -Xss2m", "--driver-memory=2g", "-c", "spark.k=v");
    }

    @Test
    void wrongCommandLinesAreRefused() {
        assertThatThrownBy(() -> arguments("--fabrik", "shm", app)).isInstanceOf(ParameterException.class);
        assertThatThrownBy(() -> arguments("--class", "C"))
                .isInstanceOf(ParameterException.class)
                .hasMessageContaining("no application");
        assertThatThrownBy(() -> arguments("--class", "C", "missing.jar"))
                .isInstanceOf(ParameterException.class)
                .hasMessageContaining("missing.jar");
    }

    @Test
    void knowsSparksOptions() {
        assertThat(SparkLauncherAccess.valuedOptions()).contains(List.of("--conf", "-c"), List.of("--class"));
        assertThat(SparkLauncherAccess.switches()).contains(List.of("--verbose", "-v"));
    }
}
