// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ExemptionTest {
    @Test
    void eachHasAReasonAndATestOfOurs() throws Exception {
        for (Exemption exemption : Exemption.load()) {
            assertThat(exemption.suite()).startsWith("org.apache.spark.");
            assertThat(exemption.test()).isNotBlank();
            assertThat(exemption.reason()).hasSizeGreaterThan(20);
            String[] equivalent = exemption.equivalent().split("#", -1);
            assertThat(equivalent).hasSize(2);
            Method method = Class.forName(equivalent[0]).getDeclaredMethod(equivalent[1]);
            assertThat(method.isAnnotationPresent(Test.class))
                    .as(exemption.equivalent())
                    .isTrue();
        }
    }

    @Test
    void thereAreThreeAtMost() throws IOException {
        List<Exemption> all = Exemption.load();
        assertThat(all).hasSizeLessThanOrEqualTo(3).doesNotHaveDuplicates();
    }
}
