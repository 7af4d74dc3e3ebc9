// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * A table for a terminal: one line for each row, text to the left, numbers to the right.
 *
 * <p><b>Threading:</b> build it in one thread.
 *
 * @param <T> what a row is about
 */
public final class TextTable<T> {
    private final List<ColumnData<T>> columns = new ArrayList<>();

    /** Adds a column of text. */
    public TextTable<T> text(String header, Function<T, String> value) {
        columns.add(new Column().header(header).dataAlign(HorizontalAlign.LEFT).with(value));
        return this;
    }

    /** Adds a column of numbers. */
    public TextTable<T> number(String header, Function<T, String> value) {
        columns.add(new Column()
                .header(header)
                .headerAlign(HorizontalAlign.RIGHT)
                .dataAlign(HorizontalAlign.RIGHT)
                .with(value));
        return this;
    }

    /** Returns the table of some rows. */
    public String render(List<T> rows) {
        return AsciiTable.getTable(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS, rows, columns);
    }
}
