// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.UIUtils$;
import scala.Function0;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.xml.Node;
import scala.xml.Unparsed;

/**
 * HTML as a page of Spark's user interface, with Spark's header and style. The method that Spark has for that takes a
 * request of {@code javax.servlet} or of {@code jakarta.servlet}, and more switches in newer lines than in older ones.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class PageHtml {
    private static final String HEADER = "headerSparkPage";
    /** Request, title, content and tab; what follows has defaults. */
    private static final int FIXED_ARGUMENTS = 4;

    private PageHtml() {}

    /**
     * Returns a page.
     *
     * @param request request for it, of this Spark's servlet API
     * @param content markup below the header, with escaped texts
     */
    @SuppressWarnings("unchecked") // What Spark's method returns.
    public static Seq<Node> page(Object request, String title, SparkUITab tab, Supplier<String> content) {
        String html = content.get();
        Function0<Object> nodes = () -> ScalaCollections.list(List.<Node>of(new Unparsed(html)));
        Method header = header();
        Object[] arguments = new Object[header.getParameterCount()];
        Class<?>[] types = header.getParameterTypes();
        for (int i = FIXED_ARGUMENTS; i < arguments.length; i++) {
            arguments[i] = types[i] == Option.class ? Option.empty() : (Object) false;
        }
        arguments[0] = request;
        arguments[1] = title;
        arguments[2] = nodes;
        arguments[3] = tab;
        try {
            return (Seq<Node>) header.invoke(UIUtils$.MODULE$, arguments);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("Spark's page header cannot be called", e);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException("Spark's page header failed", e.getCause());
        }
    }

    private static Method header() {
        return Arrays.stream(UIUtils$.class.getMethods())
                .filter(method -> method.getName().equals(HEADER))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("this Spark has no UIUtils." + HEADER));
    }
}
