// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.suites.Exemptions.OtherManager;
import java.lang.reflect.Method;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ExemptionsTest {
    private final Exemptions all = Exemptions.load();

    @Test
    void eachHasAReasonAndSomethingElseThatShowsTheSame() throws Exception {
        for (Exemption exemption : all.tests()) {
            assertThat(exemption.suite()).startsWith("org.apache.spark.");
            assertThat(exemption.test()).isNotBlank();
            assertThat(exemption.reason()).hasSizeGreaterThan(20);
            assertThat(exemption.equivalent() != null || exemption.runsIn() != null)
                    .as("%s", exemption)
                    .isTrue();
            String equivalent = exemption.equivalent();
            if (equivalent != null) {
                String[] parts = equivalent.split("#", -1);
                assertThat(parts).hasSize(2);
                Method method = Class.forName(parts[0]).getDeclaredMethod(parts[1]);
                assertThat(method.isAnnotationPresent(Test.class))
                        .as(equivalent)
                        .isTrue();
            }
        }
        for (OtherManager other : all.otherManagers()) {
            assertThat(other.suite()).startsWith("org.apache.spark.");
            assertThat(other.reason()).hasSizeGreaterThan(20);
        }
    }

    @Test
    void replacementTestsExist() {
        for (Exemption exemption : all.tests()) {
            if (exemption.runsIn() != null) {
                assertThat(SuiteReplacement.of(exemption.suite(), ShuffleMode.AUTO))
                        .filteredOn(suite -> suite.name().equals(exemption.runsIn()))
                        .singleElement()
                        .satisfies(suite -> {
                            assertThat(suite.tests()).contains(exemption.test());
                            assertThat(suite.conf()).isNotEmpty();
                            assertThat(suite.mayBeExempt()).isFalse();
                        });
            }
        }
    }

    /** The list is to become shorter. */
    @Test
    void thereAreTenAtMost() {
        assertThat(all.tests()).hasSizeLessThanOrEqualTo(10).doesNotHaveDuplicates();
    }

    @Test
    void nothingIsExemptWithSortShuffleNorWhereItPasses() {
        String adaptive = "org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite";
        Suite suite = SuiteReplacement.of(adaptive, ShuffleMode.AUTO).get(0);
        assertThat(suite.className()).isEqualTo(adaptive);
        assertThat(all.of(ShuffleMode.AUTO).testsOf(suite)).hasSize(1);
        assertThat(SuiteReplacement.of(adaptive, ShuffleMode.NETTY)).isEmpty();
        assertThat(all.of(ShuffleMode.NETTY).testsOf(suite)).isEmpty();
        assertThat(all.of(ShuffleMode.SORT)).isEqualTo(new Exemptions(List.of(), List.of()));
    }
}
