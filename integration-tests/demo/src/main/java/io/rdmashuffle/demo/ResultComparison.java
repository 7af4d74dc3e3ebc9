// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Comparison of two results as multisets of rows: order does not matter, the number of equal rows does.
 *
 * <p>Strings, integers, decimals and dates must be the same. Floating point numbers may differ by {@value #TOLERANCE}
 * of the larger one, because a sum depends on the order in which a shuffle delivers its rows. Rows are first grouped by
 * their exact cells; within a group identical rows are paired off, and the rest must pair up within the tolerance.
 *
 * <p><b>Threading:</b> stateless.
 */
final class ResultComparison {
    /** Relative; a sum of a billion doubles may be off by about 1e-12 to 1e-10, a lost row by far more. */
    static final double TOLERANCE = 1e-9;

    private ResultComparison() {}

    /** Returns whether the two are the same multiset of rows. */
    static boolean equal(List<List<@Nullable Object>> left, List<List<@Nullable Object>> right) {
        return left.size() == right.size() && contained(left, right);
    }

    /** Returns whether every row of one multiset has a row of its own in the other. */
    static boolean contained(List<List<@Nullable Object>> part, List<List<@Nullable Object>> whole) {
        Map<List<@Nullable Object>, List<double[]>> wholeGroups = groups(whole);
        for (Map.Entry<List<@Nullable Object>, List<double[]>> group :
                groups(part).entrySet()) {
            List<double[]> candidates = wholeGroups.get(group.getKey());
            if (candidates == null || !pairUp(group.getValue(), candidates)) {
                return false;
            }
        }
        return true;
    }

    private static Map<List<@Nullable Object>, List<double[]>> groups(List<List<@Nullable Object>> rows) {
        Map<List<@Nullable Object>, List<double[]>> groups = new HashMap<>();
        for (List<@Nullable Object> row : rows) {
            List<@Nullable Object> exact = new ArrayList<>(row);
            double[] inexact = new double[row.size()];
            int count = 0;
            for (int i = 0; i < row.size(); i++) {
                if (row.get(i) instanceof Double number) {
                    inexact[count++] = number;
                    exact.set(i, Double.class);
                }
            }
            groups.computeIfAbsent(exact, key -> new ArrayList<>()).add(java.util.Arrays.copyOf(inexact, count));
        }
        return groups;
    }

    /**
     * Takes a partner out of the candidates for each row; exact partners first, so that they are not taken by others.
     */
    private static boolean pairUp(List<double[]> rows, List<double[]> candidates) {
        if (rows.size() > candidates.size()) {
            return false;
        }
        if (rows.get(0).length == 0) {
            return true;
        }
        Map<List<Double>, Integer> exact = new HashMap<>();
        for (double[] candidate : candidates) {
            exact.merge(boxed(candidate), 1, Integer::sum);
        }
        List<double[]> rest = new ArrayList<>();
        for (double[] row : rows) {
            if (exact.merge(boxed(row), -1, Integer::sum) < 0) {
                exact.merge(boxed(row), 1, Integer::sum);
                rest.add(row);
            }
        }
        List<double[]> left = new ArrayList<>();
        exact.forEach((row, count) -> {
            for (int i = 0; i < count; i++) {
                left.add(row.stream().mapToDouble(Double::doubleValue).toArray());
            }
        });
        return rest.stream().allMatch(row -> takeClose(row, left));
    }

    private static List<Double> boxed(double[] numbers) {
        List<Double> list = new ArrayList<>(numbers.length);
        for (double number : numbers) {
            // 0.0 and -0.0 are equal numbers.
            list.add(number == 0 ? 0.0 : number);
        }
        return list;
    }

    private static boolean takeClose(double[] row, List<double[]> candidates) {
        for (Iterator<double[]> each = candidates.iterator(); each.hasNext(); ) {
            if (close(row, each.next())) {
                each.remove();
                return true;
            }
        }
        return false;
    }

    private static boolean close(double[] left, double[] right) {
        for (int i = 0; i < left.length; i++) {
            double larger = Math.max(Math.abs(left[i]), Math.abs(right[i]));
            if (Math.abs(left[i] - right[i]) > TOLERANCE * larger) {
                return false;
            }
        }
        return true;
    }
}
