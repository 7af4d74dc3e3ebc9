// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.it.GuaranteesDocument.Named;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * The tests that {@code docs/guarantees.md} names ran in this build and passed, none of them skipped. Runs after all
 * others and reads their reports.
 *
 * <p>Tests that {@code bin/nightly} runs may be missing; where they ran, they passed. Tests that need an RDMA device or
 * many endpoints run in {@code bin/rxe-test}, which fails itself where one is skipped. Tests that need root, rdma-core
 * or a C compiler may be skipped unless {@code REQUIRE_ROOT=1}, which the gate sets.
 */
@Tag("system")
class GuaranteesIT {
    /** What became of one test method, once. */
    private record Result(String className, String method, boolean skipped, boolean failed) {
        boolean isOf(Named named) {
            // The tests of a contract run in the classes that fulfil it.
            boolean sameClass = named.isContract() || className.endsWith("." + named.className());
            return sameClass && (named.method().isEmpty() || method.equals(named.method()));
        }
    }

    @Test
    void everyNamedTestRanAndPassed() throws IOException {
        Path root = Workspace.find().root();
        List<Result> results = results(root);
        boolean maySkip = !"1".equals(System.getenv("REQUIRE_ROOT"));
        List<String> missing = new ArrayList<>();
        for (Named named : GuaranteesDocument.read(root).tests()) {
            List<Result> of =
                    results.stream().filter(result -> result.isOf(named)).toList();
            boolean passed = of.stream().anyMatch(result -> !result.skipped() && !result.failed());
            boolean skipped = !named.isContract() && of.stream().anyMatch(Result::skipped);
            boolean fine = (passed && !skipped) || (maySkip && skipped);
            boolean elsewhere = named.needsDevice() || (named.isNightly() && of.isEmpty());
            if (!elsewhere && (!fine || of.stream().anyMatch(Result::failed))) {
                missing.add(named + ": " + (of.isEmpty() ? "no report" : of));
            }
        }
        assertThat(missing).as("promises whose tests did not run and pass").isEmpty();
    }

    private static List<Result> results(Path root) throws IOException {
        List<Result> results = new ArrayList<>();
        for (Path module : GuaranteesDocument.modules(root)) {
            for (String kind : List.of("surefire-reports", "failsafe-reports")) {
                Path reports = module.resolve("target").resolve(kind);
                if (Files.isDirectory(reports)) {
                    try (Stream<Path> files = Files.list(reports)) {
                        files.filter(file -> file.getFileName().toString().matches("TEST-.*\\.xml"))
                                .forEach(file -> results.addAll(resultsIn(file)));
                    }
                }
            }
        }
        return results;
    }

    /** Reads a report as Maven's plugins write it: a suite's test cases, with a child for what went wrong. */
    private static List<Result> resultsIn(Path file) {
        try {
            NodeList cases = DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(file.toFile())
                    .getElementsByTagName("testcase");
            List<Result> results = new ArrayList<>();
            for (int i = 0; i < cases.getLength(); i++) {
                Element test = (Element) cases.item(i);
                results.add(new Result(
                        test.getAttribute("classname"),
                        // A parameterised one goes on with its parameters.
                        test.getAttribute("name").replaceFirst("\\W.*", ""),
                        test.getElementsByTagName("skipped").getLength() > 0,
                        test.getElementsByTagName("failure").getLength() > 0
                                || test.getElementsByTagName("error").getLength() > 0));
            }
            return results;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ParserConfigurationException | SAXException e) {
            throw new IllegalStateException(file + " is no report", e);
        }
    }
}
