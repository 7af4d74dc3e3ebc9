// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.tpcds;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.TPCDSSchema;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * The columns of the 24 tables, as Spark's own TPC-DS tests declare them.
 *
 * <p><b>Threading:</b> immutable after construction.
 */
public final class TpcdsSchema implements TPCDSSchema {
    private scala.collection.immutable.Map<String, String> columns = scala.collection.immutable.Map$.MODULE$.empty();
    private scala.collection.immutable.Map<String, Seq<String>> partitions =
            scala.collection.immutable.Map$.MODULE$.empty();

    private TpcdsSchema() {
        // A Scala trait with values: its initialiser calls the two setters below.
        TPCDSSchema.$init$(this);
    }

    /** Returns each table's columns, as the inside of a {@code CREATE TABLE}, by the table's name. */
    public static Map<String, String> columnsByTable() {
        Map<String, String> byTable = new TreeMap<>();
        Iterator<Tuple2<String, String>> tables =
                new TpcdsSchema().tableColumns().iterator();
        while (tables.hasNext()) {
            Tuple2<String, String> table = tables.next();
            byTable.put(table._1(), table._2());
        }
        return byTable;
    }

    /** Creates all tables over a folder of Parquet files, one folder a table. */
    public static void createTables(SparkSession spark, Path data) {
        // CREATE TABLE and not a view of the files: CHAR(n) compares as SQL wants it only for a declared column.
        columnsByTable()
                .forEach((table, columns) -> spark.sql("CREATE TABLE `" + table + "` (" + columns
                        + ") USING parquet LOCATION '" + data.resolve(table).toUri() + "'"));
    }

    @Override
    public scala.collection.immutable.Map<String, String> tableColumns() {
        return columns;
    }

    @Override
    public scala.collection.immutable.Map<String, Seq<String>> tablePartitionColumns() {
        return partitions;
    }

    @Override
    public void org$apache$spark$sql$TPCDSSchema$_setter_$tableColumns_$eq(
            scala.collection.immutable.Map<String, String> value) {
        columns = value;
    }

    @Override
    public void org$apache$spark$sql$TPCDSSchema$_setter_$tablePartitionColumns_$eq(
            scala.collection.immutable.Map<String, Seq<String>> value) {
        partitions = value;
    }
}
