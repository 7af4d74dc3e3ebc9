// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.ui;

import io.rdmashuffle.spark.compat.since40.PageSince40;
import io.rdmashuffle.spark.compat.until35.PageUntil35;
import io.rdmashuffle.spark.metrics.ReportStore;
import java.util.Arrays;
import java.util.function.Supplier;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.WebUIPage;

/**
 * The tab, which shows what the store behind the user interface has.
 *
 * <p><b>Threading:</b> immutable once attached.
 */
public final class ShuffleTab extends SparkUITab {
    /** Path of the tab below the address of the user interface. */
    public static final String PATH = "rdmashuffle";

    private static final String TITLE = "RDMA shuffle";

    private ShuffleTab(SparkUI ui) {
        super(ui, PATH);
    }

    /** Adds the tab to a user interface. */
    public static void attachTo(SparkUI ui) {
        ShuffleTab tab = new ShuffleTab(ui);
        tab.attachPage(page(tab, new ReportPage(new ReportStore(ui.store().store()))));
        ui.attachTab(tab);
    }

    /** Only one of the two classes can be loaded. */
    private static WebUIPage page(SparkUITab tab, Supplier<String> content) {
        boolean isJakarta = Arrays.stream(WebUIPage.class.getMethods())
                .filter(method -> method.getName().equals("render"))
                .anyMatch(method -> method.getParameterTypes()[0].getName().startsWith("jakarta."));
        return isJakarta ? since40(tab, content) : until35(tab, content);
    }

    private static WebUIPage since40(SparkUITab tab, Supplier<String> content) {
        return new PageSince40(tab, TITLE, content);
    }

    private static WebUIPage until35(SparkUITab tab, Supplier<String> content) {
        return new PageUntil35(tab, TITLE, content);
    }

    @Override
    public String name() {
        return TITLE;
    }

    /** {@inheritDoc} After Spark's own. */
    @Override
    public int displayOrder() {
        return 100;
    }
}
