// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.spark.compat.until40.SparkUntil40;
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
            "long",
            "java.lang.String");

    private static SparkSupport of(SparkSupport.Member... members) {
        return new SparkSupport(List.of(members), () -> {
            throw new AssertionError("asked although a member is missing");
        });
    }

    private static Optional<SparkSupport.Member> missing(SparkSupport.Member... members) {
        return of(members).missing(SparkSupportTest.class.getClassLoader());
    }

    @Test
    void theSparkThatThisJarWasBuiltWithHasEveryMember() {
        SparkSupport support = SparkSupport.of(SparkSupportTest.class.getClassLoader());
        assertThat(support.missing(SparkSupportTest.class.getClassLoader())).isEmpty();
        assertThat(support.required()).hasSizeGreaterThan(3);
        assertThat(support.line().get()).isInstanceOf(SparkUntil40.class);
    }

    @Test
    void aMemberOfAnotherVersionIsMissing() {
        assertThat(missing(OF_ANOTHER_VERSION))
                .hasValueSatisfying(member -> assertThat(member)
                        .hasToString(
                                "org.apache.spark.scheduler.MapStatus$.apply(BlockManagerId, long[], long, String)"));
    }

    @Test
    void aMethodThatReturnsSomethingElseIsMissing() {
        assertThat(missing(SparkSupport.Member.method(
                        "org.apache.spark.shuffle.IndexShuffleBlockResolver", "taskIdMapsForShuffle", "java.util.Set")))
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
        assertThat(SortFallback.reason(new SparkConf(false), config, of(OF_ANOTHER_VERSION)))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains("runs on Spark 3.5 to 4.2")
                        .contains("Spark " + package$.MODULE$.SPARK_VERSION())
                        .contains("lacks " + OF_ANOTHER_VERSION));
        assertThat(SortFallback.reason(new SparkConf(false), config)).isEmpty();
    }

    @Test
    void whatIsOlderThan35IsNotTried() {
        assertThat(List.of("2.4.8", "3.4.4", "3.4.1-amzn-0", "3.0.3")).allMatch(SortFallback::isTooOld);
        assertThat(List.of("3.5.9", "3.5.1-amzn-2", "4.0.4", "4.2.0", "10.0.0", "of a vendor"))
                .noneMatch(SortFallback::isTooOld);
    }
}
