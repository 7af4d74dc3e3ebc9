package io.rdmashuffle.it.tpcds;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;

/**
 * What the generator is known to make: rows of store_sales, different items in it, and the sum of its quantities.
 *
 * <p><b>Threading:</b> immutable.
 */
record StoreSalesTotals(long rows, long items, long quantity) {
    /** By scale factor. */
    static final Map<String, StoreSalesTotals> KNOWN = Map.of("0.1", new StoreSalesTotals(240_485, 2_000, 11_626_063));

    /** Throws if the table has other totals: then the generator or the way through text lost something. */
    void check(Dataset<Row> storeSales) {
        Row row = storeSales
                .agg(
                        functions.count(functions.lit(1)),
                        functions.countDistinct("ss_item_sk"),
                        functions.sum("ss_quantity"))
                .head();
        StoreSalesTotals found = new StoreSalesTotals(row.getLong(0), row.getLong(1), row.getLong(2));
        if (!found.equals(this)) {
            throw new IllegalStateException("store_sales should have " + this + " but has " + found);
        }
    }
}
