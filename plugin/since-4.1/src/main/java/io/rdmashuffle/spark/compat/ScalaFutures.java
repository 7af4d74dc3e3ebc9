// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

import java.util.concurrent.CompletableFuture;
import scala.concurrent.ExecutionContext;
import scala.concurrent.ExecutionContext$;
import scala.concurrent.Future;
import scala.runtime.BoxedUnit;

/**
 * Scala's futures as Java's, by what Scala 2.12 and 2.13 have alike.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class ScalaFutures {
    private static final ExecutionContext SAME_THREAD = ExecutionContext$.MODULE$.fromExecutor(Runnable::run);

    private ScalaFutures() {}

    /** Returns a future that ends as another does, in the thread that ends that one. */
    public static <T> CompletableFuture<T> toJava(Future<T> future) {
        CompletableFuture<T> java = new CompletableFuture<>();
        future.onComplete(
                result -> {
                    if (result.isSuccess()) {
                        java.complete(result.get());
                    } else {
                        java.completeExceptionally(result.failed().get());
                    }
                    return BoxedUnit.UNIT;
                },
                SAME_THREAD);
        return java;
    }
}
