// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat.since40;

import io.rdmashuffle.spark.compat.PageHtml;
import jakarta.servlet.http.HttpServletRequest;
import java.util.function.Supplier;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.WebUIPage;
import scala.collection.immutable.Seq;
import scala.xml.Node;

/**
 * A page of the user interface of Spark 4.0 and newer, whose servlets are of {@code jakarta.servlet}.
 *
 * <p><b>Threading:</b> as the content.
 */
public final class PageSince40 extends WebUIPage {
    private final SparkUITab tab;
    private final String title;
    private final Supplier<String> content;

    /**
     * Creates the only page of a tab, which is attached to it afterwards.
     *
     * @param content makes the markup below Spark's header, for each request
     */
    public PageSince40(SparkUITab tab, String title, Supplier<String> content) {
        super("");
        this.tab = tab;
        this.title = title;
        this.content = content;
    }

    @Override
    public Seq<Node> render(HttpServletRequest request) {
        return PageHtml.page(request, title, tab, content);
    }
}
