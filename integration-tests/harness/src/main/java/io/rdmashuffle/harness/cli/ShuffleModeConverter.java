// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import io.rdmashuffle.harness.ShuffleMode;
import java.util.Arrays;
import java.util.stream.Collectors;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a {@link ShuffleMode} by the name that users see, whatever its case. */
public final class ShuffleModeConverter implements ITypeConverter<ShuffleMode> {
    @Override
    public ShuffleMode convert(String value) {
        for (ShuffleMode mode : ShuffleMode.values()) {
            if (mode.toString().equalsIgnoreCase(value)) {
                return mode;
            }
        }
        String allowed =
                Arrays.stream(ShuffleMode.values()).map(ShuffleMode::toString).collect(Collectors.joining(", "));
        throw new TypeConversionException("'" + value + "' is none of " + allowed);
    }
}
