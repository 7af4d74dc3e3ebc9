// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class SpreadTest {
    @Test
    void medianIsInTheMiddleWhateverTheOrder() {
        assertThat(Spread.of(List.of(9, 1, 4))).isEqualTo(new Spread(4, 1, 9));
        assertThat(Spread.of(List.of(9, 1, 4, 6))).isEqualTo(new Spread(5, 1, 9));
        assertThat(Spread.of(List.of(7L))).isEqualTo(new Spread(7, 7, 7));
        assertThatIllegalArgumentException().isThrownBy(() -> Spread.of(List.of()));
    }

    @Test
    void unitsChangeAllThree() {
        assertThat(Spread.of(List.of(1_000, 3_000, 2_500)).dividedBy(1_000)).hasToString("2.50 (1.00-3.00)");
    }

    @Test
    void thereIsNoRatioOfWhatIsNotAboveZero() {
        assertThat(Ratio.of(3, 2)).hasValue(1.5);
        assertThat(Ratio.of(3, 0)).isEmpty();
        assertThat(Ratio.of(3, -0.1)).isEmpty();
        assertThat(Ratio.of(-0.1, 2)).isEmpty();
        assertThat(Ratio.format(OptionalDouble.of(1.005))).isIn("1.00", "1.01");
        assertThat(Ratio.format(OptionalDouble.empty())).isEqualTo("-");
    }

    @Test
    void roundsAreHeldAgainstEachOtherInTheirOrder() {
        assertThat(Ratio.ofRounds(List.of(1L, 4L, 2L), List.of(2L, 1L))).containsExactly(0.5, 4.0);
        assertThat(Ratio.ofRounds(List.of(0L, 4L), List.of(2L, 1L))).containsExactly(4.0);
    }

    @Test
    void halvesAndDoublesCancelOut() {
        assertThat(Ratio.geometricMean(List.of(2.0, 0.5)).orElseThrow()).isCloseTo(1, within(1e-9));
        assertThat(Ratio.geometricMean(List.of(1.0, 4.0, 2.0)).orElseThrow()).isCloseTo(2, within(1e-9));
        assertThat(Ratio.geometricMean(List.of())).isEmpty();
    }
}
