// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.tpcds;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VarcharType;

/** Turns the generator's text into one Parquet folder a table; runs in a Spark of its own, with {@code local[*]}. */
public final class ParquetWriter {
    private ParquetWriter() {}

    /** Called with the folder of text, the folder to write to, and the scale factor. */
    public static void main(String[] args) throws IOException {
        Path text = Path.of(args[0]);
        Path parquet = Path.of(args[1]);
        try (SparkSession spark = SparkSession.builder()
                .master("local[*]")
                .appName("TPC-DS to Parquet")
                .config("spark.ui.enabled", false)
                .config("spark.sql.codegen.wholeStage", false)
                .getOrCreate()) {
            for (Map.Entry<String, String> table : TpcdsSchema.columnsByTable().entrySet()) {
                Dataset<Row> rows = read(spark, text.resolve(table.getKey()), StructType.fromDDL(table.getValue()));
                rows.write().parquet(parquet.resolve(table.getKey()).toString());
            }
            StoreSalesTotals expected = StoreSalesTotals.KNOWN.get(args[2]);
            if (expected != null) {
                expected.check(
                        spark.read().parquet(parquet.resolve("store_sales").toString()));
            }
        }
    }

    private static Dataset<Row> read(SparkSession spark, Path folder, StructType schema) {
        StructType strings = new StructType();
        for (StructField field : schema.fields()) {
            strings = strings.add(field.name(), DataTypes.StringType);
        }
        Dataset<Row> text = spark.read()
                .schema(strings)
                .option("sep", String.valueOf(TextGenerator.SEPARATOR))
                .option("nullValue", TextGenerator.NULL)
                .option("emptyValue", "")
                .option("quote", "\0")
                .option("escape", "\0")
                .option("mode", "FAILFAST")
                .csv(folder.toString());
        Column[] columns = new Column[schema.length()];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = typed(schema.fields()[i]);
        }
        return text.select(columns);
    }

    private static Column typed(StructField field) {
        Column text = functions.col(field.name());
        DataType type = field.dataType();
        Column value;
        if (type instanceof CharType padded) {
            value = functions.rpad(text, padded.length(), " ");
        } else if (type instanceof VarcharType) {
            value = text;
        } else {
            value = text.cast(type);
        }
        return value.as(field.name());
    }

    /**
     * Known output of the generator: rows of store_sales, different items in it, and the sum of its quantities.
     */
    private record StoreSalesTotals(long rows, long items, long quantity) {
        /** By scale factor. */
        static final Map<String, StoreSalesTotals> KNOWN =
                Map.of("0.1", new StoreSalesTotals(240_485, 2_000, 11_626_063));

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
}
