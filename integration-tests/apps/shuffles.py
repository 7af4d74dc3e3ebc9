# SPDX-License-Identifier: Apache-2.0
"""Shuffles of PySpark: RDDs of pickled rows, DataFrames, functions in Python workers. Writes as Findings.java does."""

import sys
from operator import add
from zlib import crc32

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import LongType


def digest(rows):
    return f"{len(rows)} {sum(crc32(repr(row).encode()) for row in rows)}"


spark = SparkSession.builder.appName("pyspark").getOrCreate()
context = spark.sparkContext
found = []

numbers = context.parallelize(range(200_000), 8)
pairs = numbers.map(lambda each: (each % 5_000, each))
found.append(("reduceByKey", digest(pairs.reduceByKey(add, 8).collect())))
found.append(("groupByKey", digest(pairs.groupByKey(8).mapValues(lambda each: sum(each)).collect())))
found.append(("join", digest(pairs.join(numbers.map(lambda each: (each * 3 % 7_000, str(each))), 8).collect())))
ordered = numbers.map(lambda each: (each * 7_919 % 200_003, each)).sortByKey(numPartitions=8).collect()
found.append(("sortByKey", f"{digest(ordered)} {ordered == sorted(ordered)}"))
found.append(("repartition", str(numbers.repartition(16).map(lambda each: each * each).sum())))

frame = spark.range(0, 400_000, 1, 8).withColumn("k", f.col("id") % 3_000)
squared = f.udf(lambda each: each * each, LongType())
sums = frame.groupBy("k").agg(f.sum("id").alias("s"), f.collect_set(f.col("id") % 7).alias("set"))
rows = sums.select("k", squared("k"), "s", f.sort_array("set")).collect()
found.append(("groupBy", digest([tuple(row) for row in rows])))
distinct = frame.select((f.col("id") % 90_000).alias("d")).distinct().join(frame, f.col("d") == f.col("k")).count()
found.append(("distinct", str(distinct)))

result = context.getConf().get("spark.example.result")
with open(result, "w") as out:
    out.writelines(f"{name}={value}\n" for name, value in found)
manager = context._jvm.org.apache.spark.SparkEnv.get().shuffleManager()
statistics = "none"
if "RdmaShuffleManager" in manager.getClass().getName():
    statistics = manager.statistics(context._jvm.java.time.Duration.ofSeconds(20)).toString()
with open(result + ".shuffle", "w") as out:
    out.write(f"manager={manager.getClass().getName()}\nstatistics={statistics}\n")
spark.stop()
sys.exit(0)
