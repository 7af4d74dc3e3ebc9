// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static io.rdmashuffle.architecture.CodeGraph.ROOT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/**
 * Dependencies between packages. Each package-info declares them in the sentence "May use ..."; the test compares it
 * with the classes, in both directions.
 */
@Tag("unit")
@Timeout(120)
class ArchitectureTest {
    private static final List<Path> SOURCES = List.of(
            Path.of("src/main/java"), Path.of("since-4.1/src/main/java"), Path.of("../native-verbs/src/main/java"));

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.rdmashuffle");

    private static final CodeGraph CODE = new CodeGraph(CLASSES);

    private static Map<String, MayUse> said() {
        Map<String, MayUse> said = new TreeMap<>();
        for (Path sources : SOURCES) {
            MayUse.packagesIn(sources).forEach(name -> said.put(name, MayUse.of(sources, name)));
        }
        return said;
    }

    @TestFactory
    Stream<DynamicTest> aPackageUsesWhatItsPackageInfoSays() {
        return said().entrySet().stream()
                .map(entry -> DynamicTest.dynamicTest(entry.getKey(), () -> {
                    String name = entry.getKey();
                    assertThat(CODE.packages().targetsOf(name))
                            .as("packages of this project that %s uses, and says that it may", name)
                            .containsExactlyInAnyOrderElementsOf(
                                    entry.getValue().ours());
                    Set<String> libraries = CODE.foreign(name).stream()
                            .map(MayUse::libraryOf)
                            .filter(library -> !library.isEmpty())
                            .collect(Collectors.toCollection(TreeSet::new));
                    assertThat(libraries)
                            .as("libraries that %s uses, and says that it may", name)
                            .containsExactlyInAnyOrderElementsOf(
                                    entry.getValue().libraries());
                }));
    }

    @Test
    void everyPackageSaysWhatItMayUse() {
        // The root has no classes; its description is a list of the packages.
        assertThat(said().keySet())
                .filteredOn(name -> !name.equals("io.rdmashuffle"))
                .containsExactlyInAnyOrderElementsOf(CODE.packages().nodes());
        assertThat(CODE.packages().nodes()).contains(ROOT + "ffi", ROOT + "memory", ROOT + "shuffle", ROOT + "spark");
    }

    @Test
    void packagesFormNoCircle() {
        assertThat(CODE.packages().cycles()).isEmpty();
        SlicesRuleDefinition.slices()
                .matching("io.rdmashuffle.(**)")
                .should()
                .beFreeOfCycles()
                .check(CLASSES);
    }

    /**
     * Circles that are one thing stand in {@code class-cycles.txt}, each with its reason; a line that no longer holds
     * fails too.
     */
    @Test
    void classesOfAPackageFormNoCircle() throws IOException {
        Set<String> circles = new TreeSet<>();
        for (String name : CODE.packages().nodes()) {
            for (Set<String> cycle : CODE.inside(name).cycles()) {
                circles.add(name.substring(ROOT.length()) + ": "
                        + cycle.stream()
                                .map(type -> type.substring(name.length() + 1))
                                .collect(Collectors.joining(" ")));
            }
        }
        assertThat(circles).containsExactlyInAnyOrderElementsOf(acceptedCircles());
    }

    private static List<String> acceptedCircles() throws IOException {
        try (InputStream file = ArchitectureTest.class.getResourceAsStream("class-cycles.txt")) {
            return new String(Objects.requireNonNull(file).readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .toList();
        }
    }

    @Test
    void onlyShuffleSparkAndTheDoctorOfAClusterKnowSpark() {
        noClasses()
                .that(not(resideInAnyPackage(ROOT + "shuffle..", ROOT + "spark..", ROOT + "doctor")))
                .should()
                .dependOnClassesThat(resideInAnyPackage("org.apache.spark..", "scala.."))
                .because("Spark changes, and the rest must not change with it")
                .check(CLASSES);
    }

    @Test
    void providersDoNotKnowEachOther() {
        SlicesRuleDefinition.slices()
                .matching("io.rdmashuffle.fabric.(*)..")
                .should()
                .notDependOnEachOther()
                .check(CLASSES);
    }

    @Test
    void onlySparkKnowsWhichProvidersThereAre() {
        noClasses()
                .that(not(resideInAnyPackage(
                        ROOT + "fabric.*..", ROOT + "spark.driver", ROOT + "spark.executor", ROOT + "doctor.host")))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.rdmashuffle.fabric.*..")
                .because("executors choose fabrics, the driver and the doctor say what follows from them")
                .check(CLASSES);
    }

    @Test
    void onlyTheFabricItselfKnowsWhatIsBelowIt() {
        noClasses()
                .that(not(resideInAnyPackage(ROOT + "fabric.verbs..", ROOT + "doctor.host")))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.rdmashuffle.fabric.verbs.*")
                .allowEmptyShould(true)
                .check(CLASSES);
    }

    /** {@code java -jar} has neither Spark nor SLF4J on its class path. */
    @Test
    void theDoctorOfAHostRunsWithoutSpark() {
        noClasses()
                .that(resideInAnyPackage(ROOT + "main", ROOT + "doctor.host", ROOT + "doctor.report"))
                .should()
                .transitivelyDependOnClassesThat(resideInAnyPackage("org.apache.spark..", "scala..", "org.slf4j.."))
                .check(CLASSES);
    }

    @Test
    void onlyFfiTouchesNativeLibraries() {
        noClasses()
                .that(not(resideInAPackage(ROOT + "ffi")))
                .should()
                .dependOnClassesThat(resideInAnyPackage("jnr..", "com.kenai.jffi..", "sun.misc.."))
                .check(CLASSES);
    }

    /** Java sources are checkstyle's. */
    @Test
    void everyScriptNamesItsLicence() throws IOException {
        List<Path> scripts = new ArrayList<>();
        for (String folder : List.of("../bin", "../.ci")) {
            try (Stream<Path> files = Files.walk(Path.of(folder))) {
                files.filter(Files::isRegularFile).forEach(scripts::add);
            }
        }
        assertThat(scripts)
                .hasSizeGreaterThan(10)
                .allSatisfy(script -> assertThat(Files.readString(script))
                        .as("first lines of %s", script)
                        .containsPattern("\\A(#!.*\\n)?(#|//) SPDX-License-Identifier: Apache-2.0\\n"));
    }

    @Test
    void theSentenceIsReadAcrossLinesAndWithoutPrefixes() {
        MayUse read = MayUse.parse(ROOT + "x", """
                /**
                 * For tests. May use {@code memory}, {@code
                 * io.rdmashuffle.fabric} and SLF4J; must never use {@code spark}. Kryo is not meant.
                 */
                """);
        assertThat(read.ours()).containsExactlyInAnyOrder(ROOT + "memory", ROOT + "fabric");
        assertThat(read.libraries()).containsExactly("SLF4J");
        assertThatThrownBy(() -> MayUse.parse(ROOT + "x", "/** Nothing. */"))
                .hasMessageContaining("has no sentence \"May use ...\"");
    }

    @Test
    void aCircleIsFound() {
        Graph graph = new Graph();
        graph.addArrow("a", "b");
        graph.addArrow("b", "c");
        graph.addArrow("c", "b");
        graph.addArrow("c", "d");
        assertThat(graph.cycles()).containsExactly(Set.of("b", "c"));
        assertThat(graph.arrows()).isEqualTo(4);
    }
}
