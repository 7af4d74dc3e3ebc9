// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import io.rdmashuffle.bench.Configuration;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * The ratios to sort shuffle on disk over the size of the pool, as SVG: a line for each case and way of transfer, and
 * one where both are as fast.
 *
 * <p><b>Threading:</b> one thread, one plot.
 *
 * <p><b>Source:</b> Scalable Vector Graphics 1.1, W3C.
 */
final class PressurePlot {
    private static final int WIDTH = 760;
    private static final int HEIGHT = 380;
    private static final int LEFT = 60;
    private static final int RIGHT = 250;
    private static final int TOP = 40;
    private static final int BOTTOM = 50;
    private static final int LINE_HEIGHT = 18;
    private static final double STEP = 0.5;
    /** Okabe and Ito's, which colour-blind readers can tell apart. */
    private static final List<String> COLOURS =
            List.of("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000");

    private final XMLStreamWriter svg;
    private final List<String> sizes;
    private final double greatest;

    private PressurePlot(XMLStreamWriter svg, List<String> sizes, double greatest) {
        this.svg = svg;
        this.sizes = sizes;
        this.greatest = greatest;
    }

    /** Returns the plot as a document. */
    static String render(List<PressurePoint> points) {
        StringWriter text = new StringWriter();
        try {
            XMLStreamWriter svg = XMLOutputFactory.newInstance().createXMLStreamWriter(text);
            double greatest = points.stream()
                    .mapToDouble(point -> ratio(point).orElse(0))
                    .max()
                    .orElse(1);
            List<String> sizes = points.stream()
                    .map(point -> point.size().label())
                    .distinct()
                    .toList();
            new PressurePlot(svg, sizes, Math.ceil(Math.max(greatest, 1) / STEP) * STEP).draw(lines(points));
        } catch (XMLStreamException e) {
            throw new IllegalStateException("a string cannot be written to", e);
        }
        return text.append('\n').toString();
    }

    private static OptionalDouble ratio(PressurePoint point) {
        return point.ratio(Configuration.SORT_DISK);
    }

    private static Map<String, List<PressurePoint>> lines(List<PressurePoint> points) {
        Map<String, List<PressurePoint>> lines = new LinkedHashMap<>();
        for (PressurePoint point : points) {
            lines.computeIfAbsent(
                            point.benchCase().name() + ", " + point.transfer().label(), unused -> new ArrayList<>())
                    .add(point);
        }
        return lines;
    }

    private void draw(Map<String, List<PressurePoint>> lines) throws XMLStreamException {
        svg.writeStartElement("svg");
        svg.writeDefaultNamespace("http://www.w3.org/2000/svg");
        attributes(Map.of("width", "" + WIDTH, "height", "" + HEIGHT, "font-family", "sans-serif", "font-size", "12"));
        element("rect", Map.of("width", "" + WIDTH, "height", "" + HEIGHT, "fill", "white"));
        text(
                LEFT,
                TOP - LINE_HEIGHT,
                "start",
                "Sort shuffle's time (files on disk) over ours; above 1, ours is faster");
        axes();
        int place = 0;
        for (Map.Entry<String, List<PressurePoint>> line : lines.entrySet()) {
            line(line.getValue(), COLOURS.get(place % COLOURS.size()));
            legend(line.getKey(), COLOURS.get(place % COLOURS.size()), place);
            place++;
        }
        svg.writeEndElement();
        svg.writeEndDocument();
    }

    private void axes() throws XMLStreamException {
        for (double ratio = 0; ratio <= greatest; ratio += STEP) {
            rule(ratio, ratio == 1 ? "#444444" : "#dddddd");
            text(LEFT - 8, y(ratio) + 4, "end", String.format(Locale.ROOT, "%.1f", ratio));
        }
        for (int i = 0; i < sizes.size(); i++) {
            text(x(i), HEIGHT - BOTTOM + LINE_HEIGHT, "middle", sizes.get(i));
        }
        text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "middle", "pool, as a share of an executor's output");
    }

    private void rule(double ratio, String colour) throws XMLStreamException {
        element(
                "line",
                Map.of(
                        "x1",
                        "" + LEFT,
                        "x2",
                        "" + (WIDTH - RIGHT),
                        "y1",
                        number(y(ratio)),
                        "y2",
                        number(y(ratio)),
                        "stroke",
                        colour));
    }

    private void line(List<PressurePoint> points, String colour) throws XMLStreamException {
        StringBuilder path = new StringBuilder();
        for (PressurePoint point : points) {
            OptionalDouble ratio = ratio(point);
            if (ratio.isPresent()) {
                double x = x(sizes.indexOf(point.size().label()));
                double y = y(ratio.getAsDouble());
                path.append(number(x)).append(',').append(number(y)).append(' ');
                element("circle", Map.of("cx", number(x), "cy", number(y), "r", "3", "fill", colour));
            }
        }
        element(
                "polyline",
                Map.of("points", path.toString().strip(), "fill", "none", "stroke", colour, "stroke-width", "2"));
    }

    private void legend(String name, String colour, int place) throws XMLStreamException {
        double y = TOP + place * LINE_HEIGHT;
        int x = WIDTH - RIGHT + 20;
        element("rect", Map.of("x", "" + x, "y", number(y), "width", "12", "height", "12", "fill", colour));
        text(x + LINE_HEIGHT, y + 10, "start", name);
    }

    private double x(int place) {
        double width = WIDTH - LEFT - RIGHT;
        return LEFT + width * (place + 0.5) / sizes.size();
    }

    private double y(double ratio) {
        double height = HEIGHT - TOP - BOTTOM;
        return TOP + height * (1 - ratio / greatest);
    }

    private void text(double x, double y, String anchor, String text) throws XMLStreamException {
        svg.writeStartElement("text");
        attributes(Map.of("x", number(x), "y", number(y), "text-anchor", anchor));
        svg.writeCharacters(text);
        svg.writeEndElement();
    }

    private void element(String name, Map<String, String> attributes) throws XMLStreamException {
        svg.writeCharacters("\n");
        svg.writeEmptyElement(name);
        attributes(attributes);
    }

    private void attributes(Map<String, String> attributes) throws XMLStreamException {
        // In one order, so that a plot of the same figures is the same file.
        for (String name : attributes.keySet().stream().sorted().toList()) {
            svg.writeAttribute(name, attributes.get(name));
        }
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
