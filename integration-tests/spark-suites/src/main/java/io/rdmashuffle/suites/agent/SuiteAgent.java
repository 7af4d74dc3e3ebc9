// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites.agent;

import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.instrument.Instrumentation;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.utility.JavaModule;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;

/**
 * Agent for {@code -javaagent} that weaves three calls of {@link ShuffleEvidence} and {@link ManagerChoice} into Spark.
 *
 * <p><b>Threading:</b> stateless; woven calls run on any thread of Spark.
 */
public final class SuiteAgent {
    private SuiteAgent() {}

    /** Called by the JVM before any class of Spark is loaded. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        // By name: a class literal would load the class before it can be changed.
        weave(
                instrumentation,
                "org.apache.spark.SparkEnv$",
                named("createDriverEnv").and(takesArguments(5)),
                ChooseManager.class);
        weave(instrumentation, "org.apache.spark.ShuffleDependency", isConstructor(), CountShuffle.class);
        weave(instrumentation, "org.apache.spark.SparkContext", named("stop").and(takesArguments(1)), BeforeStop.class);
    }

    private static void weave(
            Instrumentation instrumentation,
            String type,
            ElementMatcher<? super MethodDescription> method,
            Class<?> advice) {
        new AgentBuilder.Default()
                // Members that were added would change what serialised objects say of their class, which executors
                // compare.
                .disableClassFormatChanges()
                .with(new EndOnError())
                .type(named(type))
                .transform((builder, description, loader, module, domain) -> {
                    if (description.getDeclaredMethods().filter(method).isEmpty()) {
                        throw new IllegalStateException(type + " has no method that is " + method);
                    }
                    return builder.visit(Advice.to(advice).on(method));
                })
                .installOn(instrumentation);
    }

    /** A suite that ran without the agent's help would prove nothing, so it does not run. */
    private static final class EndOnError extends AgentBuilder.Listener.Adapter {
        private static final int EXIT_CODE = 70;

        @Override
        public void onError(
                String type,
                @Nullable ClassLoader loader,
                @Nullable JavaModule module,
                boolean loaded,
                Throwable error) {
            error.printStackTrace();
            System.err.println("the agent cannot instrument " + type + " in this version of Spark");
            Runtime.getRuntime().halt(EXIT_CODE);
        }
    }

    /** Inlined into {@code SparkEnv.createDriverEnv}: the configuration is the one that executors get, too. */
    static final class ChooseManager {
        private ChooseManager() {}

        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(0) SparkConf conf) {
            ManagerChoice.apply(conf);
        }
    }

    /**
     * Inlined into the constructor of {@code ShuffleDependency}, which registers the shuffle. It does not name that
     * type: Byte Buddy would load it while it is being loaded.
     */
    static final class CountShuffle {
        private CountShuffle() {}

        @Advice.OnMethodExit
        static void exit(@Advice.This Object dependency) {
            ShuffleEvidence.registered(dependency);
        }
    }

    /** Inlined into {@code SparkContext.stop}: afterwards the executors cannot be asked. */
    static final class BeforeStop {
        private BeforeStop() {}

        @Advice.OnMethodEnter
        static void enter() {
            ShuffleEvidence.collect();
        }
    }
}
