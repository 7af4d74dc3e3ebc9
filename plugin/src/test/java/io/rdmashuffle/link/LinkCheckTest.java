// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.Traversable;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** The one jar and each Spark that it is said to run on, linked as a virtual machine would. */
@Tag("unit")
@Timeout(120)
class LinkCheckTest {
    private static final Path LINES = Path.of("target/link");

    /** What the plugin is compiled against, and the newer side of {@code spark.compat}. */
    private static final List<String> COMPILED_AGAINST = List.of("3.5_2.12", "4.1");

    /** Spark 3.5 never asks for these. */
    private static final Set<String> NOT_OF_3_5 = Set.of(
            "overrides nothing: io.rdmashuffle.shuffle.buffer.SliceManagedBuffer"
                    + ".convertToNettyForSsl()Ljava/lang/Object;",
            "overrides nothing: io.rdmashuffle.spark.compat.until40.ResolverUntil40.addShuffleToSkip(I)V");

    /** Of the sides of a change only one is loaded. */
    @ParameterizedTest
    @CsvSource({"3.5_2.12, since41", "3.5_2.13, since41", "4.0, since41", "4.1, until40", "4.2, until40"})
    void everythingThatIsCalledIsThere(String line, String otherSide) throws IOException {
        References references =
                References.of(LinkCheck.ourClasses(), file -> !file.toString().contains("/compat/" + otherSide + "/"));
        Set<String> findings = new TreeSet<>();
        for (String compiledAgainst : COMPILED_AGAINST) {
            try (ClassSource here = new ClassSource(LINES.resolve(line), LinkCheck.ourClasses());
                    ClassSource there = new ClassSource(LINES.resolve(compiledAgainst), LinkCheck.ourClasses())) {
                findings.addAll(LinkCheck.findings(references, here, there));
            }
        }
        if (line.startsWith("3.5")) {
            findings.removeAll(NOT_OF_3_5);
        }
        assertThat(findings).isEmpty();
        assertThat(references.members()).hasSizeGreaterThan(1000);
    }

    /** Scala 2.13 has another result of the one, and another parameter of the other's function. */
    @Test
    void whatOnlyTheOldestHasIsFound() throws IOException {
        List<Path> compiled = List.of(Path.of("target/test-classes"));
        References references = References.of(compiled, file -> file.endsWith("LinkCheckTest$OnlyScala212.class"));
        try (ClassSource oldest = new ClassSource(LINES.resolve("3.5_2.12"), compiled);
                ClassSource newer = new ClassSource(LINES.resolve("3.5_2.13"), compiled)) {
            assertThat(LinkCheck.findings(references, oldest, oldest)).isEmpty();
            assertThat(LinkCheck.findings(references, newer, oldest))
                    .contains(
                            "no member scala.reflect.ClassTag$.Long()Lscala/reflect/ClassTag;",
                            "no type scala.collection.GenTraversableOnce")
                    .anyMatch(finding ->
                            finding.startsWith("overrides nothing: ") && finding.contains(".toTraversable("));
        }
    }

    /** Compiled, never loaded. */
    @SuppressWarnings({"deprecation", "unused"})
    private abstract static class OnlyScala212 extends AbstractIterator<String> {
        ClassTag<?> tag() {
            return ClassTag$.MODULE$.Long();
        }

        Iterator<String> twice(Iterator<String> strings) {
            return strings.flatMap(string -> strings);
        }

        @Override
        public Traversable<String> toTraversable() {
            return super.toTraversable();
        }
    }
}
