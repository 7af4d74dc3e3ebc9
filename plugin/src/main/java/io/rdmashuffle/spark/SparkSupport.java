// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import io.rdmashuffle.spark.compat.SparkLine;
import io.rdmashuffle.spark.compat.since41.SparkSince41;
import io.rdmashuffle.spark.compat.until40.SparkUntil40;
import java.lang.reflect.Executable;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Whether this jar runs on the Spark that it was loaded by, and how: looks for the members that its classes link to and
 * that differ between versions of Spark, before anything of them is called.
 *
 * <p>A member that is missing would otherwise end the application in a {@code NoSuchMethodError}, at start or in a
 * task.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param required members without which the pool is not used
 * @param line makes the calls of this Spark; not to be asked if a member is missing
 */
record SparkSupport(List<Member> required, Supplier<SparkLine> line) {
    private static final String CHECKSUM = "org.apache.spark.shuffle.checksum.RowBasedChecksum";
    private static final String CHECKSUMS = "[L" + CHECKSUM + ";";
    private static final String RESOLVER = "org.apache.spark.shuffle.IndexShuffleBlockResolver";
    private static final String MAP_STATUS = "org.apache.spark.scheduler.MapStatus";
    private static final String SORTER = "org.apache.spark.util.collection.ExternalSorter";
    private static final String BLOCK_MANAGER_ID = "org.apache.spark.storage.BlockManagerId";

    private static final SparkSupport SINCE_4_1 = new SparkSupport(
            List.of(
                    Member.constructor(
                            RESOLVER,
                            "org.apache.spark.SparkConf",
                            "org.apache.spark.storage.BlockManager",
                            "java.util.concurrent.ConcurrentMap"),
                    Member.method(RESOLVER, "taskIdMapsForShuffle", "java.util.concurrent.ConcurrentMap"),
                    Member.method(MAP_STATUS + "$", "apply", MAP_STATUS, BLOCK_MANAGER_ID, "[J", "long", "long"),
                    Member.method("org.apache.spark.ShuffleDependency", "rowBasedChecksums", CHECKSUMS),
                    Member.constructor(
                            SORTER,
                            "org.apache.spark.TaskContext",
                            "scala.Option",
                            "scala.Option",
                            "scala.Option",
                            "org.apache.spark.serializer.Serializer",
                            CHECKSUMS)),
            SparkSince41::new);

    private static final SparkSupport UNTIL_4_0 = new SparkSupport(
            List.of(
                    Member.constructor(
                            RESOLVER,
                            "org.apache.spark.SparkConf",
                            "org.apache.spark.storage.BlockManager",
                            "java.util.Map"),
                    Member.method(RESOLVER, "taskIdMapsForShuffle", "java.util.Map"),
                    Member.method(MAP_STATUS + "$", "apply", MAP_STATUS, BLOCK_MANAGER_ID, "[J", "long"),
                    Member.constructor(
                            SORTER,
                            "org.apache.spark.TaskContext",
                            "scala.Option",
                            "scala.Option",
                            "scala.Option",
                            "org.apache.spark.serializer.Serializer")),
            SparkUntil40::new);

    /** Returns the members and calls of the Spark that a class loader has. */
    static SparkSupport of(ClassLoader loader) {
        try {
            Class.forName(CHECKSUM, false, loader);
            return SINCE_4_1;
        } catch (ClassNotFoundException e) {
            return UNTIL_4_0;
        }
    }

    /**
     * A method or constructor, by the names that the class file has.
     *
     * @param method {@code <init>} for a constructor
     * @param result empty for a constructor
     * @param parameters as {@link Class#getName()} writes them
     */
    record Member(String owner, String method, String result, List<String> parameters) {
        private static final String CONSTRUCTOR = "<init>";

        static Member method(String owner, String method, String result, String... parameters) {
            return new Member(owner, method, result, List.of(parameters));
        }

        static Member constructor(String owner, String... parameters) {
            return new Member(owner, CONSTRUCTOR, "", List.of(parameters));
        }

        boolean isPresent(ClassLoader loader) {
            try {
                Class<?> type = Class.forName(owner, false, loader);
                Stream<? extends Executable> members = method.equals(CONSTRUCTOR)
                        ? Arrays.stream(type.getConstructors())
                        : Arrays.stream(type.getMethods())
                                .filter(found -> found.getName().equals(method)
                                        && found.getReturnType().getName().equals(result));
                return members.anyMatch(found -> Arrays.stream(found.getParameterTypes())
                        .map(Class::getName)
                        .toList()
                        .equals(parameters));
            } catch (ClassNotFoundException | LinkageError e) {
                return false;
            }
        }

        @Override
        public String toString() {
            return owner + "." + method
                    + parameters.stream()
                            .map(name ->
                                    name.substring(name.lastIndexOf('.') + 1).replace(";", "[]"))
                            .map(name -> name.equals("[J") ? "long[]" : name)
                            .collect(Collectors.joining(", ", "(", ")"));
        }
    }

    /** Returns the first member that a class loader does not have; empty when it has all. */
    Optional<Member> missing(ClassLoader loader) {
        return required.stream().filter(member -> !member.isPresent(loader)).findFirst();
    }
}
