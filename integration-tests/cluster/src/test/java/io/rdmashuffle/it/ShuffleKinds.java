// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.AnnotationConsumer;
import org.junit.jupiter.params.support.ParameterDeclarations;

/**
 * Kinds of shuffle that a parameterized test or class runs on: the first one in the gate, all of them where all system
 * tests are asked for ({@code -Dit.excludedGroups=none}, {@code bin/matrix}, {@code bin/nightly}).
 */
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@ArgumentsSource(ShuffleKinds.Provider.class)
public @interface ShuffleKinds {
    /** The kinds, the most important first. */
    ShuffleKind[] value();

    /** Resolves the kinds of an annotation. */
    final class Provider implements ArgumentsProvider, AnnotationConsumer<ShuffleKinds> {
        private static final String EXCLUDED_GROUPS = "it.excludedGroups";

        private ShuffleKind[] kinds = {};

        @Override
        public void accept(ShuffleKinds annotation) {
            kinds = annotation.value();
        }

        @Override
        public Stream<? extends Arguments> provideArguments(
                ParameterDeclarations parameters, ExtensionContext context) {
            boolean all = System.getProperty(EXCLUDED_GROUPS, "none").equals("none");
            return Arrays.stream(kinds).limit(all ? kinds.length : 1).map(Arguments::of);
        }
    }
}
