// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.spark.support.LinkedMember;
import io.rdmashuffle.spark.support.SparkSupport;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.package$;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class SortFallbackTest {
    private static final LinkedMember OF_ANOTHER_VERSION =
            LinkedMember.parse("METHOD org/apache/spark/scheduler/MapStatus$ apply"
                    + " (Lorg/apache/spark/storage/BlockManagerId;[JJLjava/lang/String;)"
                    + "Lorg/apache/spark/scheduler/MapStatus;");

    private static final SparkSupport LACKING = new SparkSupport(() -> List.of(OF_ANOTHER_VERSION), () -> {
        throw new AssertionError("asked although a member is missing");
    });

    @Test
    void theReasonNamesVersionsAndMember() {
        ShuffleConfig config = ShuffleSettings.read(new SparkConf(false));
        assertThat(SortFallback.reason(new SparkConf(false), config, LACKING))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains("runs on Spark 3.5 to 4.2")
                        .contains("Spark " + package$.MODULE$.SPARK_VERSION())
                        .contains("lacks " + OF_ANOTHER_VERSION));
        assertThat(SortFallback.reason(new SparkConf(false), config)).isEmpty();
    }

    @Test
    void versionsBefore35AreNotTried() {
        assertThat(List.of("2.4.8", "3.4.4", "3.4.1-amzn-0", "3.0.3")).allMatch(SortFallback::isTooOld);
        assertThat(List.of("3.5.9", "3.5.1-amzn-2", "4.0.4", "4.2.0", "10.0.0", "of a vendor"))
                .noneMatch(SortFallback::isTooOld);
    }
}
