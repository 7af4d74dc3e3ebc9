// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import java.lang.reflect.Executable;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Whether this jar runs on the Spark that it was loaded by: looks for the members that its classes link to and that
 * differ between versions of Spark and Scala, before anything of them is called.
 *
 * <p>A member that is missing would otherwise end the application in a {@code NoSuchMethodError}, at start or in a
 * task.
 *
 * <p><b>Threading:</b> immutable.
 */
record SparkSupport(List<Member> required) {
    private static final String CHECKSUMS = "[Lorg.apache.spark.shuffle.checksum.RowBasedChecksum;";

    /** Oldest first, so that what is named is what the versions are told apart by. */
    static final SparkSupport OF_THIS_JAR = new SparkSupport(List.of(
            Member.method(
                    "scala.jdk.javaapi.CollectionConverters",
                    "asScala",
                    "scala.collection.Iterator",
                    "java.util.Iterator"),
            Member.constructor(
                    "org.apache.spark.shuffle.IndexShuffleBlockResolver",
                    "org.apache.spark.SparkConf",
                    "org.apache.spark.storage.BlockManager",
                    "java.util.concurrent.ConcurrentMap"),
            Member.method(
                    "org.apache.spark.scheduler.MapStatus$",
                    "apply",
                    "org.apache.spark.scheduler.MapStatus",
                    "org.apache.spark.storage.BlockManagerId",
                    "[J",
                    "long",
                    "long"),
            Member.method("org.apache.spark.ShuffleDependency", "rowBasedChecksums", CHECKSUMS),
            Member.constructor(
                    "org.apache.spark.util.collection.ExternalSorter",
                    "org.apache.spark.TaskContext",
                    "scala.Option",
                    "scala.Option",
                    "scala.Option",
                    "org.apache.spark.serializer.Serializer",
                    CHECKSUMS)));

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
