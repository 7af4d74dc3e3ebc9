// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The code in docs/native-verbs.md is the code of {@link Examples}, which runs; the Javadoc of ffi is complete. */
@Tag("unit")
@Timeout(60)
class DocumentationTest {
    private static final Path SOURCE = Path.of("src/test/java/io/rdmashuffle/verbs/Examples.java");
    private static final Path DOCUMENT = Path.of("../docs/native-verbs.md");
    private static final Path FFI = Path.of("src/main/java/io/rdmashuffle/ffi");
    /** Names of C, which man pages document: here no comment has to repeat them. */
    private static final Pattern VERBATIM =
            Pattern.compile("(Verbs|Cm|LibFabric)Constants|\\w+Layout|IbVerbs|RdmaCm|LibC|LibFabric|ContextOps|Errno");

    private static final Pattern REGION =
            Pattern.compile("( *)// example: (\\w+)\\n(.*?)\\n *// end\\n", Pattern.DOTALL);
    private static final Pattern BLOCK =
            Pattern.compile("<!-- example: (\\w+) -->\\n```java\\n(.*?)\\n```\\n", Pattern.DOTALL);

    @Test
    void codeBlocksAreTheExamplesThatRun() throws IOException {
        Map<String, String> examples = new TreeMap<>();
        Matcher regions = REGION.matcher(Files.readString(SOURCE));
        while (regions.find()) {
            examples.put(regions.group(2), regions.group(3).replaceAll("(?m)^" + regions.group(1), ""));
        }
        Map<String, String> blocks = new TreeMap<>();
        String document = Files.readString(DOCUMENT);
        Matcher found = BLOCK.matcher(document);
        while (found.find()) {
            blocks.put(found.group(1), found.group(2));
        }
        assertThat(blocks).isEqualTo(examples).hasSizeGreaterThan(10);
        assertThat(document.split("```java", -1)).as("each block is marked").hasSize(blocks.size() + 1);
    }

    /** The compiler checks the other packages, but cannot waive missing comments for one alone. */
    @Test
    void ffiIsDocumentedApartFromNamesOfC(@TempDir Path classes) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        List<String> options = List.of(
                "-proc:none",
                "-Xmaxwarns",
                "10000",
                "-Xdoclint:all/protected",
                "-classpath",
                System.getProperty("java.class.path"),
                "-d",
                classes.toString());
        try (StandardJavaFileManager files = compiler.getStandardFileManager(found, Locale.ROOT, null);
                Stream<Path> sources = Files.list(FFI)) {
            compiler.getTask(null, files, found, options, null, files.getJavaFileObjectsFromPaths(sources.toList()))
                    .call();
        }
        assertThat(found.getDiagnostics())
                .as("doclint runs: constants without a comment")
                .anySatisfy(each -> assertThat(each.getMessage(Locale.ROOT)).isEqualTo("no comment"));
        assertThat(found.getDiagnostics())
                .filteredOn(each -> !isMissing(each) || !isVerbatim(each))
                .isEmpty();
    }

    private static boolean isMissing(Diagnostic<? extends JavaFileObject> found) {
        return found.getMessage(Locale.ROOT).matches("no comment|no @(param|return|throws).*");
    }

    private static boolean isVerbatim(Diagnostic<? extends JavaFileObject> found) {
        String file = Path.of(found.getSource().getName()).getFileName().toString();
        return VERBATIM.matcher(file.replace(".java", "")).matches();
    }
}
