// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.ui;

/**
 * Markup that grows; every text is escaped on its way in.
 *
 * <p><b>Threading:</b> one thread.
 */
final class Html {
    private final StringBuilder markup = new StringBuilder(4096);

    /** Adds markup, which must not contain anything that came from outside. */
    Html raw(String trusted) {
        markup.append(trusted);
        return this;
    }

    /** Adds a text. */
    Html text(String text) {
        escape(text);
        return this;
    }

    /** Adds an element with a text in it. */
    Html element(String name, String text) {
        return raw("<").raw(name).raw(">").text(text).raw("</").raw(name).raw(">");
    }

    /** Adds the cell of a table with a number in it, by which the column is sorted. */
    Html number(String counter, long value, String text) {
        raw("<td data-counter=\"").text(counter).raw("\" data-value=\"").raw(Long.toString(value));
        return raw("\" sorttable_customkey=\"")
                .raw(Long.toString(value))
                .raw("\">")
                .text(text)
                .raw("</td>");
    }

    private void escape(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '<' -> markup.append("&lt;");
                case '>' -> markup.append("&gt;");
                case '&' -> markup.append("&amp;");
                case '"' -> markup.append("&quot;");
                case '\'' -> markup.append("&#39;");
                default -> markup.append(c < ' ' && c != '\n' && c != '\t' ? ' ' : c);
            }
        }
    }

    @Override
    public String toString() {
        return markup.toString();
    }
}
