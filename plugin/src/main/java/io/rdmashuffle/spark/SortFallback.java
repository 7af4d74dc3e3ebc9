// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import io.rdmashuffle.conf.FabricMode;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.ffi.NativeAccess;
import io.rdmashuffle.spark.support.ExecutorClassPath;
import io.rdmashuffle.spark.support.SparkSupport;
import java.nio.ByteOrder;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.package$;
import scala.util.Properties;

/** Settings under which a whole application is served by Spark's sort shuffle instead, and why. */
final class SortFallback {
    private static final Pattern VERSION = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})(\\D.*)?");

    private SortFallback() {}

    /** Removes the key that an earlier application with the pool left in a configuration that was used again. */
    static void removeOwnDataIO(SparkConf conf) {
        if (conf.get(PoolDataIO.KEY, "").equals(PoolDataIO.class.getName())) {
            conf.remove(PoolDataIO.KEY);
        }
    }

    /** Returns the reason why the pool is not used, for the user; empty if it is. */
    static Optional<String> reason(SparkConf conf, ShuffleConfig config) {
        return reason(conf, config, SparkSupport.of(SortFallback.class.getClassLoader()));
    }

    /** Decides with a given check of Spark's version; for tests. */
    static Optional<String> reason(SparkConf conf, ShuffleConfig config, SparkSupport support) {
        String version = package$.MODULE$.SPARK_VERSION();
        return when(config.get(ShuffleConfig.FABRIC_MODE) == FabricMode.SORT, "spark.shuffle.rdma.fabric.mode=sort")
                .or(() -> when(
                        isTooOld(version), "this RDMA shuffle runs on Spark 3.5 to 4.2, and this is Spark " + version))
                .or(() -> when(
                        ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN,
                        "this machine is big-endian; the layout of registered memory is little-endian"))
                .or(() -> new SparkSettings(key -> conf.get(key, null)).reasonForSort())
                .or(NativeAccess::reasonAgainst)
                // Costs most, so last.
                .or(() -> support.missing(SortFallback.class.getClassLoader())
                        .map(missing -> "this RDMA shuffle runs on Spark 3.5 to 4.2, and Spark " + version
                                + " with Scala " + Properties.versionNumberString() + " lacks " + missing));
    }

    private static Optional<String> when(boolean holds, String reason) {
        return holds ? Optional.of(reason) : Optional.empty();
    }

    /** Returns the reason why executors cannot load this jar, which only the driver can find out in time. */
    static Optional<String> reasonOfExecutors(SparkConf conf) {
        return ExecutorClassPath.of(key -> conf.get(key, null), package$.MODULE$.SPARK_VERSION())
                .reasonAgainst();
    }

    /** Before 3.5 more differs than is looked for. Vendors append to Spark's version. */
    static boolean isTooOld(String version) {
        Matcher numbers = VERSION.matcher(version);
        if (!numbers.matches()) {
            return false;
        }
        int major = Integer.parseInt(numbers.group(1));
        return major < 3 || (major == 3 && Integer.parseInt(numbers.group(2)) < 5);
    }
}
