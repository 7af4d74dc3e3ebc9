// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.apache.spark.package$;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A Spark that the jar cannot run on is named in one line, and sort shuffle serves the application. */
@Tag("unit")
@Timeout(60)
class SparkSupportTest {
    private static final SparkSupport.Member OF_ANOTHER_VERSION = SparkSupport.Member.method(
            "org.apache.spark.scheduler.MapStatus$",
            "apply",
            "org.apache.spark.scheduler.MapStatus",
            "org.apache.spark.storage.BlockManagerId",
            "[J",
            "long");

    private static Optional<SparkSupport.Member> missing(SparkSupport.Member... members) {
        return new SparkSupport(List.of(members)).missing(SparkSupportTest.class.getClassLoader());
    }

    @Test
    void theSparkThatThisJarWasBuiltWithHasEveryMember() {
        assertThat(SparkSupport.OF_THIS_JAR.missing(SparkSupportTest.class.getClassLoader()))
                .isEmpty();
        assertThat(SparkSupport.OF_THIS_JAR.required()).hasSizeGreaterThan(4);
    }

    @Test
    void aMemberOfAnotherVersionIsMissing() {
        assertThat(missing(OF_ANOTHER_VERSION))
                .hasValueSatisfying(member -> assertThat(member)
                        .hasToString("org.apache.spark.scheduler.MapStatus$.apply(BlockManagerId, long[], long)"));
    }

    @Test
    void aMethodThatReturnsSomethingElseIsMissing() {
        assertThat(missing(SparkSupport.Member.method(
                        "org.apache.spark.shuffle.IndexShuffleBlockResolver", "taskIdMapsForShuffle", "java.util.Map")))
                .isPresent();
    }

    @Test
    void aClassThatIsNotThereIsMissing() {
        assertThat(missing(SparkSupport.Member.constructor("org.apache.spark.NoSuchClass", "long")))
                .hasValueSatisfying(
                        member -> assertThat(member).hasToString("org.apache.spark.NoSuchClass.<init>(long)"));
    }

    @Test
    void theReasonNamesVersionsAndMember() {
        ShuffleConfig config = ShuffleSettings.read(new SparkConf(false));
        assertThat(SortFallback.reason(new SparkConf(false), config, new SparkSupport(List.of(OF_ANOTHER_VERSION))))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains("needs Spark 4.1 or newer")
                        .contains("Spark " + package$.MODULE$.SPARK_VERSION())
                        .contains("lacks " + OF_ANOTHER_VERSION));
        assertThat(SortFallback.reason(new SparkConf(false), config)).isEmpty();
    }
}
