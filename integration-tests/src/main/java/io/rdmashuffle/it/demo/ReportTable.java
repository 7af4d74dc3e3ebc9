package io.rdmashuffle.it.demo;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.rdmashuffle.it.cli.ByteSize;
import io.rdmashuffle.shuffle.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** The report as text for a terminal. */
final class ReportTable {
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
            columns.add(number(
                    path.label(), query -> ByteSize.format(query.counters().getOrDefault(path.label(), 0L))));
        }
        columns.add(number("shuffle read", query -> ByteSize.format(query.sort().shuffleReadBytes())));
        return AsciiTable.getTable(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS, report.queries(), columns);
    }

    private static ColumnData<QueryComparison> number(String header, Function<QueryComparison, String> value) {
        return new Column()
                .header(header)
                .headerAlign(HorizontalAlign.RIGHT)
                .dataAlign(HorizontalAlign.RIGHT)
                .with(value);
    }
}
