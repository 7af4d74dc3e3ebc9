// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.jspecify.annotations.Nullable;

/**
 * A result on disk, one row a line as a JSON array: a finite floating point number is a number, null is null,
 * everything else is the string that says it exactly.
 */
final class ResultFile {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ResultFile() {}

    static void write(Path file, List<Row> rows) throws IOException {
        try (BufferedWriter writer = Files.newBufferedWriter(file)) {
            for (Row row : rows) {
                List<@Nullable Object> cells = new ArrayList<>();
                for (int i = 0; i < row.length(); i++) {
                    cells.add(cell(row.get(i)));
                }
                writer.write(JSON.writeValueAsString(cells));
                writer.newLine();
            }
        }
    }

    static @Nullable Object cell(@Nullable Object value) {
        if (value == null) {
            return null;
        }
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            return Double.isFinite(number) ? (Object) number : String.valueOf(number);
        }
        return value instanceof BigDecimal decimal ? decimal.toPlainString() : value.toString();
    }

    static List<List<@Nullable Object>> read(Path file) throws IOException {
        ObjectReader reader = JSON.readerFor(new TypeReference<List<@Nullable Object>>() {});
        List<List<@Nullable Object>> rows = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            rows.add(reader.readValue(line));
        }
        return rows;
    }
}
