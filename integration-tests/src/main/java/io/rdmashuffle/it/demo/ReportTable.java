package io.rdmashuffle.it.demo;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.rdmashuffle.shuffle.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** The report as text for a terminal. */
final class ReportTable {
    private static final String[] UNITS = {"B", "KB", "MB", "GB", "TB"};

    private ReportTable() {}

    static String render(DemoReport report) {
        List<ColumnData<QueryComparison>> columns = new ArrayList<>();
        columns.add(new Column().header("query").dataAlign(HorizontalAlign.LEFT).with(QueryComparison::name));
        columns.add(number("rows", query -> Long.toString(query.sort().rows())));
        columns.add(new Column()
                .header("equal")
                .dataAlign(HorizontalAlign.LEFT)
                .with(query -> query.verdict().label()));
        columns.add(number("sort ms", query -> Long.toString(query.sort().millis())));
        columns.add(number(
                report.fabric() + " ms", query -> Long.toString(query.ours().millis())));
        columns.add(number("sort/" + report.fabric(), query -> String.format(Locale.ROOT, "%.2f", query.ratio())));
        for (ShuffleCounter path : DemoReport.PATHS) {
            columns.add(number(path.label(), query -> size(query.counters().getOrDefault(path.label(), 0L))));
        }
        columns.add(number("shuffle read", query -> size(query.sort().shuffleReadBytes())));
        return AsciiTable.getTable(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS, report.queries(), columns);
    }

    private static ColumnData<QueryComparison> number(String header, Function<QueryComparison, String> value) {
        return new Column()
                .header(header)
                .headerAlign(HorizontalAlign.RIGHT)
                .dataAlign(HorizontalAlign.RIGHT)
                .with(value);
    }

    /** Writes a number of bytes with three digits and a unit; zero stays a bare 0, so that it stands out. */
    static String size(long bytes) {
        if (bytes == 0) {
            return "0";
        }
        double value = bytes;
        int unit = 0;
        while (Math.abs(value) >= 1000 && unit < UNITS.length - 1) {
            value /= 1000;
            unit++;
        }
        String format = unit == 0 || Math.abs(value) >= 100 ? "%.0f %s" : "%.1f %s";
        return String.format(Locale.ROOT, format, value, UNITS[unit]);
    }
}
