// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.harness.cli.Tool;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/bench shuffle}: jobs that are mostly shuffle, on sort shuffle in three configurations and on ours. */
@Command(
        name = "bench shuffle",
        description = {
            "Runs jobs that are mostly shuffle on Spark's sort shuffle with files on disk, with files in a tmpfs, and"
                    + " with files in a tmpfs that are not compressed (spark.shuffle.compress=false), and on ours; who"
                    + " begins a round is another one each time. Ratios are sort shuffle's median over ours: above 1,"
                    + " ours is faster; the one to judge by is that of the fastest.",
            "",
            "Overhead is a job's time less the larger of two floors of the same run: the job without its shuffle, and"
                    + " its plan with 2,000 rows, which is scheduling. CPU is user and system time of the executors'"
                    + " processes; CPU s/GB divides it by what sort shuffle on disk writes. Adaptive execution and"
                    + " broadcast joins are off, the serializer of RDDs is Kryo, compression is at its defaults"
                    + " but for sort-bare. Memory is what the executors' processes hold after the job, each page once;"
                    + " files of a tmpfs are not in it.",
            ""
        },
        exitCodeList = {
            "0:all cases ran, and moved the same records on all",
            "1:a case failed, moved different records or fell below its floor, or Spark did not start",
            "2:an option was wrong"
        })
public final class ShuffleBench extends Tool {
    @Mixin
    ShuffleOptions options = new ShuffleOptions();

    /** Called by {@code bin/bench shuffle}. */
    public static void main(String[] args) {
        run(new ShuffleBench(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check(options::check);
        ShuffleReport report = new Comparison("shuffle", options, out).run();
        out.println(ShuffleTables.render(report));
        out.println("s: median (least-greatest); a / b / c (/ d): sort-disk / sort-tmpfs / sort-bare (/ ours);"
                + " ratios above 1: ours needs less");
        options.sayWhereKept(out);
        List<String> below = report.below(options.floors());
        below.forEach(out::println);
        return report.acceptable() && below.isEmpty() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }
}
