// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/** Ratios of sort shuffle's figure to ours: 2 says that ours needs half. */
public final class Ratio {
    private Ratio() {}

    /** Returns the ratio, or nothing where either figure is not above zero: then noise is all there is to divide. */
    public static OptionalDouble of(double theirs, double ours) {
        return theirs > 0 && ours > 0 ? OptionalDouble.of(theirs / ours) : OptionalDouble.empty();
    }

    /** Returns the ratio of each round, the first against the first; as many as both have and there is a ratio of. */
    public static List<Double> ofRounds(List<? extends Number> theirs, List<? extends Number> ours) {
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < Math.min(theirs.size(), ours.size()); i++) {
            of(theirs.get(i).doubleValue(), ours.get(i).doubleValue()).ifPresent(ratios::add);
        }
        return ratios;
    }

    /** Returns the geometric mean: halves and doubles cancel out. Nothing if there is no ratio. */
    public static OptionalDouble geometricMean(Collection<Double> ratios) {
        return ratios.stream().mapToDouble(Math::log).average().stream()
                .map(Math::exp)
                .findFirst();
    }

    /** Returns the ratio as JSON has it. */
    public static @Nullable Double orNull(OptionalDouble ratio) {
        return ratio.isPresent() ? (Double) ratio.getAsDouble() : null;
    }

    /** Writes two digits after the point, or a dash. */
    public static String format(OptionalDouble ratio) {
        return ratio.isPresent() ? String.format(Locale.ROOT, "%.2f", ratio.getAsDouble()) : "-";
    }
}
