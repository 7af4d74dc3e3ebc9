// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.support;

import io.rdmashuffle.spark.compat.SparkLine;
import io.rdmashuffle.spark.compat.since41.SparkSince41;
import io.rdmashuffle.spark.compat.until40.SparkUntil40;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Check whether this jar runs on the Spark that loaded it: looks for every member of Spark, Scala and Netty that its
 * classes link to, before anything of them is called. The build makes the lists from the compiled classes.
 *
 * <p>A member that is missing would otherwise end the application in a {@code NoSuchMethodError}, at start or in a
 * task.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param required members without which the pool is not used
 * @param line makes the calls of this Spark; not to be asked if a member is missing
 */
public record SparkSupport(Supplier<List<LinkedMember>> required, Supplier<SparkLine> line) {
    /** Distinguishes the Spark lines. */
    private static final String NEW_IN_4_1 = "org.apache.spark.shuffle.checksum.RowBasedChecksum";

    /** Spark SQL, which applications may do without, and whose rows are then never seen. */
    private static final String SQL = "org.apache.spark.sql.";

    private static final String CLASS_OF_SQL = "org.apache.spark.sql.catalyst.InternalRow";

    /** Returns the members and calls of the Spark that a class loader has. */
    public static SparkSupport of(ClassLoader loader) {
        return isThere(NEW_IN_4_1, loader)
                ? new SparkSupport(() -> read("members-since-4.1.txt"), SparkSince41::new)
                : new SparkSupport(() -> read("members-until-4.0.txt"), SparkUntil40::new);
    }

    private static List<LinkedMember> read(String list) {
        try (InputStream lines = SparkSupport.class.getResourceAsStream(list)) {
            if (lines == null) {
                throw new IllegalStateException("this jar was not built completely: it has no " + list);
            }
            return new String(lines.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .map(LinkedMember::parse)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isThere(String type, ClassLoader loader) {
        try {
            Class.forName(type, false, loader);
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** Returns the first member that a class loader does not have; empty when it has all. */
    public Optional<LinkedMember> missing(ClassLoader loader) {
        boolean withSql = isThere(CLASS_OF_SQL, loader);
        return required.get().stream()
                .filter(member -> withSql || !member.owners().get(0).startsWith(SQL))
                .filter(member -> !member.isPresent(loader))
                .findFirst();
    }
}
