// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class RequestTest {
    private static final long LONGEST = 1024;

    private static void assertAsksFor(long minimum, long preferred, long least, long wanted) {
        assertThat(Request.of(Purpose.INDEX, minimum, preferred, LONGEST))
                .isEqualTo(new Request(Purpose.INDEX, least, wanted));
    }

    @Test
    void roundsUpToGranules() {
        assertAsksFor(0, 0, 64, 64);
        assertAsksFor(1, 1, 64, 64);
        assertAsksFor(64, 65, 64, 128);
        assertAsksFor(65, 200, 128, 256);
    }

    @Test
    void wantsNoLessThanTheLeastAndNoMoreThanThereCanBe() {
        assertAsksFor(200, 1, 256, 256);
        assertAsksFor(64, LONGEST - 1, 64, LONGEST);
        assertAsksFor(64, LONGEST + 1, 64, LONGEST);
        assertAsksFor(LONGEST, Long.MAX_VALUE, LONGEST, LONGEST);
    }

    @Test
    void isNoneIfTheMinimumCannotBe() {
        assertThat(Request.of(Purpose.RECEIVE, LONGEST + 1, LONGEST + 1, LONGEST))
                .isNull();
        assertThat(Request.of(Purpose.RECEIVE, Long.MAX_VALUE, Long.MAX_VALUE, LONGEST))
                .isNull();
        assertThat(Request.of(Purpose.RECEIVE, 1, 1, 63)).as("not one granule").isNull();
        assertThat(Request.of(Purpose.RECEIVE, 65, 65, 100))
                .as("no whole granules")
                .isNull();
    }
}
