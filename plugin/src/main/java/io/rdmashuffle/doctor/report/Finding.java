// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.report;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Finding of a check.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param check name of the check, as in JSON; a check may have several findings
 * @param effect effect on an application
 * @param message observation, in words
 * @param remedy remedy; empty if there is no problem
 * @param facts observation, for programs: strings, numbers, booleans and lists of these, by name
 */
public record Finding(String check, Effect effect, String message, String remedy, Map<String, Object> facts) {
    public Finding {
        if ((effect == Effect.NONE) != remedy.isEmpty()) {
            throw new IllegalArgumentException(
                    check + ": a finding needs a remedy if something is wrong, and only then; " + message);
        }
        facts = new LinkedHashMap<>(facts);
    }

    /** Returns a finding that all is well. */
    public static Finding ok(String check, String message) {
        return new Finding(check, Effect.NONE, message, "", Map.of());
    }

    /** Returns a finding that something is wrong. */
    public static Finding wrong(String check, Effect effect, String message, String remedy) {
        return new Finding(check, effect, message, remedy, Map.of());
    }

    /** Returns the same with an effect that is no worse than this. */
    public Finding atMost(Effect most) {
        return effect.compareTo(most) <= 0 ? this : new Finding(check, most, message, remedy, facts);
    }

    /** Returns the same with one fact more. */
    public Finding with(String name, Object value) {
        Map<String, Object> more = new LinkedHashMap<>(facts);
        more.put(name, value);
        return new Finding(check, effect, message, remedy, more);
    }
}
