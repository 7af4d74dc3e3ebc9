// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.support;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.spark.compat.until40.SparkUntil40;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A Spark that the jar cannot run on is named in one line, and sort shuffle serves the application. */
@Tag("unit")
@Timeout(60)
class SparkSupportTest {
    private static final ClassLoader LOADER = SparkSupportTest.class.getClassLoader();

    private static SparkSupport of(LinkedMember... members) {
        return new SparkSupport(() -> List.of(members), () -> {
            throw new AssertionError("asked although a member is missing");
        });
    }

    @Test
    void theSparkThatThisJarWasBuiltWithHasEveryMember() {
        SparkSupport support = SparkSupport.of(LOADER);
        assertThat(support.missing(LOADER)).isEmpty();
        assertThat(support.line().get()).isInstanceOf(SparkUntil40.class);
        assertThat(support.required().get())
                .hasSizeGreaterThan(300)
                .as("inherited member of a class that only tasks use; and a type")
                .contains(
                        LinkedMember.parse("METHOD org/apache/spark/memory/MemoryConsumer acquireMemory (J)J"),
                        LinkedMember.parse("TYPE org/apache/spark/sql/catalyst/expressions/UnsafeRow"));
        assertThat(support.required().get())
                .as("without a user interface there is no tab, and the pool all the same")
                .noneMatch(member -> member.toString().contains("spark/ui/")
                        || member.toString().contains("spark.ui.")
                        || member.toString().contains("scala/xml")
                        || member.toString().contains("scala.xml"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "METHOD org/apache/spark/storage/BlockManager ofAVendor ()V"
                        + "|org.apache.spark.storage.BlockManager.ofAVendor()",
                "METHOD org/apache/spark/shuffle/IndexShuffleBlockResolver taskIdMapsForShuffle ()Ljava/util/Set;"
                        + "|org.apache.spark.shuffle.IndexShuffleBlockResolver.taskIdMapsForShuffle()",
                "STATIC_METHOD org/apache/spark/storage/BlockManager blockManagerId"
                        + " ()Lorg/apache/spark/storage/BlockManagerId;"
                        + "|org.apache.spark.storage.BlockManager.blockManagerId()",
                "CONSTRUCTOR org/apache/spark/NoSuchClass <init> ([[JZ)V"
                        + "|org.apache.spark.NoSuchClass.<init>(long[][], boolean)",
                "TYPE org/apache/spark/NoSuchClass|org.apache.spark.NoSuchClass",
                "STATIC_FIELD scala/None$ NOTHING Lscala/None$;|scala.None$.NOTHING",
                "FIELD org/apache/spark/memory/MemoryConsumer pages I|org.apache.spark.memory.MemoryConsumer.pages",
                "METHOD scala/Option,org/apache/spark/TaskContext ofNeither ()V"
                        + "|scala.Option or org.apache.spark.TaskContext.ofNeither()",
            })
    void absentMembersAreMissing(String line, String named) {
        assertThat(of(LinkedMember.parse(line)).missing(LOADER))
                .hasValueSatisfying(member -> assertThat(member).hasToString(named));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "STATIC_FIELD scala/None$ MODULE$ Lscala/None$;",
                "FIELD org/apache/spark/memory/MemoryConsumer taskMemoryManager"
                        + " Lorg/apache/spark/memory/TaskMemoryManager;",
                "METHOD scala/Option,org/apache/spark/TaskContext stageId ()I",
                "CONSTRUCTOR org/apache/spark/memory/MemoryConsumer <init>"
                        + " (Lorg/apache/spark/memory/TaskMemoryManager;JLorg/apache/spark/memory/MemoryMode;)V",
            })
    void inheritedMembersAreFound(String line) {
        assertThat(of(LinkedMember.parse(line)).missing(LOADER)).isEmpty();
    }
}
