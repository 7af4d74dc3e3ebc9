// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What users get: the plugin's jar, opened. */
@Tag("unit")
@Timeout(60)
class ReleasedJarTest {
    private static final Workspace WORKSPACE = Workspace.find();

    /** All that may lie in it. Others' classes stand below a name of ours, but for jffi's, which native code names. */
    private static final Pattern EXPECTED = Pattern.compile("io/rdmashuffle/.*"
            + "|com/kenai/jffi/.*\\.class"
            + "|jni/(x86_64|aarch64)-Linux/libjffi-1\\.2\\.so"
            + "|META-INF/services/org\\.apache\\.spark\\.status\\.AppHistoryServerPlugin"
            + "|META-INF/(MANIFEST\\.MF|LICENSE|NOTICE|licenses/(asm|jnr-x86asm|kryo)\\.txt)");

    /** Names of classes as class files have them; texts of messages, with dots, are left alone. */
    private static final Pattern NOT_RELOCATED =
            Pattern.compile("(?<!/)(jnr/(ffi|a64asm|x86asm)/|com/kenai/jnr/|org/objectweb/asm/|com/esotericsoftware/)");

    private static Map<String, byte[]> entries() throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipInputStream in = new ZipInputStream(Files.newInputStream(WORKSPACE.pluginJar()))) {
            for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                if (!entry.isDirectory()) {
                    assertThat(entries.put(entry.getName(), in.readAllBytes()))
                            .as("%s is there twice", entry.getName())
                            .isNull();
                }
            }
        }
        return entries;
    }

    @Test
    void holdsWhatItShouldAndNothingElse() throws IOException {
        Map<String, byte[]> entries = entries();
        assertThat(entries.keySet())
                .allMatch(name -> EXPECTED.matcher(name).matches())
                .noneMatch(name -> name.endsWith("module-info.class"))
                .contains(
                        "jni/x86_64-Linux/libjffi-1.2.so",
                        "jni/aarch64-Linux/libjffi-1.2.so",
                        "io/rdmashuffle/spark/RdmaShuffleManager.class",
                        "io/rdmashuffle/spark/compat/since41/SparkSince41.class",
                        "io/rdmashuffle/shaded/jnr/ffi/LibraryLoader.class",
                        "META-INF/services/org.apache.spark.status.AppHistoryServerPlugin",
                        "META-INF/licenses/kryo.txt");
    }

    @Test
    void namesNoPackageThatWasMoved() throws IOException {
        entries().forEach((name, bytes) -> {
            if (name.endsWith(".class")) {
                Matcher found = NOT_RELOCATED.matcher(new String(bytes, StandardCharsets.ISO_8859_1));
                assertThat(found.find() ? found.group() : "").as(name).isEmpty();
            }
        });
    }

    @Test
    void theManifestTellsVersionAndMainClass() throws IOException {
        Path file = WORKSPACE.pluginJar();
        try (JarFile jar = new JarFile(file.toFile())) {
            Attributes manifest = jar.getManifest().getMainAttributes();
            assertThat(file.getFileName())
                    .hasToString("rdma-shuffle-spark-" + manifest.getValue("Implementation-Version") + ".jar");
            assertThat(manifest.getValue("Main-Class")).isEqualTo("io.rdmashuffle.main.Main");
            assertThat(manifest.getValue("Bundle-License")).isEqualTo("Apache-2.0");
            assertThat(manifest.getValue("Built-For-Spark")).isEqualTo("3.5, 4.0, 4.1, 4.2");
        }
    }

    @Test
    void licencesOfWhatItHoldsAreTold() throws IOException {
        Map<String, byte[]> entries = entries();
        assertThat(entries.get("META-INF/LICENSE"))
                .isEqualTo(Files.readAllBytes(WORKSPACE.root().resolve("LICENSE")));
        String notice = new String(entries.get("META-INF/NOTICE"), StandardCharsets.UTF_8);
        String pom = Files.readString(WORKSPACE.root().resolve("pom.xml"));
        for (Map.Entry<String, String> library : Map.of(
                        "jnr-ffi", "jnr-ffi.version", "Kryo", "kryo5.version", "ASM", "asm.version")
                .entrySet()) {
            String tag = library.getValue();
            String version =
                    pom.substring(pom.indexOf("<" + tag + ">") + tag.length() + 2, pom.indexOf("</" + tag + ">"));
            assertThat(notice).contains(library.getKey() + " " + version);
        }
        for (String licence : List.of("asm", "jnr-x86asm", "kryo")) {
            assertThat(notice).contains("META-INF/licenses/" + licence + ".txt");
        }
    }
}
