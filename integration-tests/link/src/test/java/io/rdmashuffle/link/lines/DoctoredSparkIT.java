// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link.lines;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.tree.ClassNode;

/** A vendor's Spark that lacks something that this jar links to: sort shuffle, and one line that says so. */
@Tag("system")
@Timeout(600)
class DoctoredSparkIT {
    private static final Path JAVA = Path.of(System.getProperty("java.home"));

    /** Members that Spark itself does not call this way; the second is used only inside tasks. */
    @ParameterizedTest
    @CsvSource({
        "SPARK_3_5_SCALA_2_12, org/apache/spark/storage/StorageLevel, DISK_ONLY, 3.5.",
        "SPARK_4_2, org/apache/spark/unsafe/memory/MemoryBlock, fromLongArray, 4.2.",
    })
    void aMemberThatIsMissingMeansSortShuffle(
            SparkJars line, String type, String method, String version, @TempDir Path folder) throws Exception {
        Path doctored = without(line, type, method, Files.createDirectory(folder.resolve("doctored")));
        SmallApplication application = SmallApplication.run(JAVA, line, folder, List.of(), doctored);
        assertThat(application.exitCode())
                .as(() -> String.join("\n", application.output()))
                .isZero();
        assertThat(application.pooled()).isZero();
        assertThat(application.warnings())
                .singleElement()
                .asString()
                .contains("Using Spark's sort shuffle for this application")
                .contains("Spark " + version)
                .contains(" lacks " + type.replace('/', '.') + "." + method + "(");
    }

    @ParameterizedTest
    @CsvSource({"SPARK_3_5_SCALA_2_12", "SPARK_4_2"})
    void theSameApplicationUsesThePoolOnAWholeSpark(SparkJars line, @TempDir Path folder) throws Exception {
        SmallApplication application = SmallApplication.run(JAVA, line, folder, List.of());
        assertThat(application.exitCode())
                .as(() -> String.join("\n", application.output()))
                .isZero();
        assertThat(application.pooled()).isPositive();
        assertThat(application.warnings()).isEmpty();
    }

    /** Writes a class of Spark without a method into a folder. */
    private static Path without(SparkJars line, String type, String method, Path folder) throws IOException {
        for (Path each : line.jars()) {
            try (JarFile jar = new JarFile(each.toFile())) {
                if (jar.getEntry(type + ".class") == null) {
                    continue;
                }
                ClassNode node = new ClassNode();
                new ClassReader(jar.getInputStream(jar.getEntry(type + ".class"))).accept(node, 0);
                assertThat(node.methods.removeIf(found -> found.name.equals(method)))
                        .isTrue();
                ClassWriter writer = new ClassWriter(0);
                node.accept(writer);
                Path file = folder.resolve(type + ".class");
                Files.createDirectories(file.getParent());
                Files.write(file, writer.toByteArray());
                return folder;
            }
        }
        throw new AssertionError(line + " has no " + type);
    }
}
