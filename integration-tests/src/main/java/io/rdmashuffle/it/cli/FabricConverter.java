package io.rdmashuffle.it.cli;

import io.rdmashuffle.it.FabricMode;
import java.util.Arrays;
import java.util.stream.Collectors;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a {@link FabricMode} by the name that users see, whatever its case. */
public final class FabricConverter implements ITypeConverter<FabricMode> {
    @Override
    public FabricMode convert(String value) {
        for (FabricMode mode : FabricMode.values()) {
            if (mode.toString().equalsIgnoreCase(value)) {
                return mode;
            }
        }
        String allowed =
                Arrays.stream(FabricMode.values()).map(FabricMode::toString).collect(Collectors.joining(", "));
        throw new TypeConversionException("'" + value + "' is none of " + allowed);
    }
}
