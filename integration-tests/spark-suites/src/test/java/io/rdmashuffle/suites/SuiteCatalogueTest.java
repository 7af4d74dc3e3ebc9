// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.suites.Suite.Engine;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.scalatest.funsuite.AnyFunSuite;

@Tag("unit")
class SuiteCatalogueTest {
    private static final String HERE = SuiteCatalogueTest.class.getName();

    private final SuiteCatalogue catalogue = new SuiteCatalogue(
            List.of(
                    HERE,
                    HERE + "$RunnableSuite",
                    HERE + "$AbstractSuite",
                    HERE + "$NeedsArgumentSuite",
                    HERE + "$NoTestsSuite",
                    "a.TwinSuite",
                    "b.TwinSuite",
                    "org.apache.spark.ShuffleSuite",
                    "org.apache.spark.SortShuffleSuite",
                    "c.MissingSuite"),
            SuiteCatalogueTest.class.getClassLoader());

    /** A suite that runs. */
    public static class RunnableSuite extends AbstractSuite {}

    /** A suite that does not. */
    public abstract static class AbstractSuite extends AnyFunSuite {}

    /** Nor does this one. */
    public static class NeedsArgumentSuite extends AnyFunSuite {
        public NeedsArgumentSuite(String argument) {
            assertThat(argument).isNotNull();
        }
    }

    /** Has the name of a suite only. */
    public static class NoTestsSuite {}

    private void assertRefused(String name, String... parts) {
        assertThatThrownBy(() -> catalogue.resolve(name, ShuffleMode.AUTO))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(parts);
    }

    @Test
    void findsBySimpleAndFullName() {
        Suite simple = one("SuiteCatalogueTest$RunnableSuite", ShuffleMode.AUTO);
        assertThat(simple).isEqualTo(one(HERE + "$RunnableSuite", ShuffleMode.AUTO));
        assertThat(simple.className()).isEqualTo(HERE + "$RunnableSuite");
        assertThat(one("suites.SuiteCatalogueTest$RunnableSuite", ShuffleMode.AUTO))
                .as("as rdd.SortingSuite")
                .isEqualTo(simple);
        assertThat(simple.engine()).isEqualTo(Engine.SCALATEST);
        assertThat(simple.isReplacement()).isFalse();
        assertThat(one("SuiteCatalogueTest", ShuffleMode.AUTO).engine()).isEqualTo(Engine.JUNIT);
    }

    @Test
    void reportsTheReasonForASuiteThatCannotRun() {
        assertRefused("SuiteCatalogueTest$AbstractSuite", "is abstract", "SuiteCatalogueTest$RunnableSuite");
        assertRefused("SuiteCatalogueTest$NeedsArgumentSuite", "no constructor without parameters");
        assertRefused("SuiteCatalogueTest$NoTestsSuite", "neither a ScalaTest suite nor has it JUnit tests");
        assertRefused("TwinSuite", "a.TwinSuite, b.TwinSuite", "full name");
        assertRefused("MissingSuite", "c.MissingSuite");
    }

    @Test
    void unknownNamesGetNearOnes() {
        assertRefused("SortShufleSuite", "no suite 'SortShufleSuite'", "near it are: SortShuffleSuite");
        assertRefused("org.apache.spark.sql.ShuffleSuite", "no suite", "ShuffleSuite");
    }

    @Test
    void replacementsRunInPlaceOfSuites() {
        List<Suite> shuffle = catalogue.resolve("ShuffleSuite", ShuffleMode.SORT);
        assertThat(shuffle).hasSize(2).allMatch(suite -> suite.origin().equals("org.apache.spark.ShuffleSuite"));
        assertThat(shuffle).extracting(Suite::mayBeExempt).containsExactly(true, false);
        assertThat(shuffle.get(1).tests()).hasSize(4);
        Suite sortShuffle = one("org.apache.spark.SortShuffleSuite", ShuffleMode.NETTY);
        assertThat(sortShuffle.className()).isEqualTo(SortShuffleEquivalentsIT.class.getName());
        assertThat(sortShuffle.name()).isEqualTo("SortShuffleSuite");
        assertThat(sortShuffle.isReplacement()).isTrue();
        assertThat(sortShuffle.mayBeExempt()).isFalse();
    }

    private Suite one(String name, ShuffleMode fabric) {
        List<Suite> found = catalogue.resolve(name, fabric);
        assertThat(found).hasSize(1);
        return found.get(0);
    }
}
