package io.rdmashuffle;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/** The order of the house: a package may use those above it in the list, never those below. */
@Tag("unit")
@Timeout(120)
class HouseTest {
    private static final String ROOT = "io.rdmashuffle.";

    /** Top to bottom, as in the architecture's list. */
    private static final List<String> FLOORS = List.of(
            "ffi",
            "verbs",
            "verbs.async",
            "lifecycle",
            "conf",
            "memory",
            "fabric",
            "fabric.verbs.device",
            "fabric.verbs.connect",
            "fabric.verbs.read",
            "fabric.verbs",
            "fabric.shm",
            "registry",
            "directory",
            "store",
            "peer",
            "shuffle",
            "shuffle.buffer",
            "shuffle.format",
            "shuffle.migrate",
            "shuffle.write",
            "shuffle.read",
            "shuffle.serve",
            "spark");

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.rdmashuffle");

    @TestFactory
    Stream<DynamicTest> dependenciesPointUpwards() {
        return FLOORS.stream()
                .map(floor -> DynamicTest.dynamicTest(floor, () -> {
                    String[] below = FLOORS.subList(FLOORS.indexOf(floor) + 1, FLOORS.size()).stream()
                            .map(ROOT::concat)
                            .toArray(String[]::new);
                    check(noClasses()
                            .that()
                            .resideInAPackage(ROOT + floor)
                            .should()
                            .dependOnClassesThat()
                            .resideInAnyPackage(below));
                }));
    }

    @Test
    void everyClassLivesOnAFloor() {
        String[] floors = FLOORS.stream().map(ROOT::concat).toArray(String[]::new);
        check(classes().that().resideInAPackage("io.rdmashuffle..").should().resideInAnyPackage(floors));
    }

    @Test
    void onlyShuffleAndSparkKnowSpark() {
        check(noClasses()
                .that(not(resideInAnyPackage(ROOT + "shuffle..", ROOT + "spark")))
                .should()
                .dependOnClassesThat(resideInAnyPackage("org.apache.spark..", "scala.."))
                .because("Spark changes, and the rest must not change with it"));
    }

    @Test
    void providersDoNotKnowEachOther() {
        check(SlicesRuleDefinition.slices()
                .matching("io.rdmashuffle.fabric.(*)..")
                .should()
                .notDependOnEachOther());
    }

    @Test
    void onlyTheVerbsFabricKnowsItsParts() {
        check(noClasses()
                .that()
                .resideOutsideOfPackage(ROOT + "fabric.verbs..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(ROOT + "fabric.verbs.*"));
    }

    @Test
    void onlySparkKnowsWhichProvidersThereAre() {
        check(noClasses()
                .that(not(resideInAPackage("io.rdmashuffle.fabric.*..")).and(not(resideInAPackage(ROOT + "spark"))))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.rdmashuffle.fabric.*")
                .because("spark chooses the fabrics; everybody else sees the interface"));
    }

    @Test
    void onlyFfiTouchesNativeLibraries() {
        check(noClasses()
                .that(not(resideInAPackage(ROOT + "ffi")))
                .should()
                .dependOnClassesThat(resideInAnyPackage("jnr..", "com.kenai.jffi..", "sun.misc..")));
    }

    @Test
    void allFloorsThatExistWereLookedAt() {
        assertThat(CLASSES.stream().map(JavaClass::getPackageName))
                .contains(ROOT + "ffi", ROOT + "memory", ROOT + "fabric.shm", ROOT + "shuffle", ROOT + "spark");
    }

    /** Providers and verbs may not exist yet. */
    private static void check(ArchRule rule) {
        rule.allowEmptyShould(true).check(CLASSES);
    }
}
