// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.harness.cli.Tool;
import java.io.IOException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/bench remote}: the jobs of {@code bin/bench shuffle} as if each executor had a host of its own. */
@Command(
        name = "bench remote",
        description = {
            "Runs the jobs of bin/bench shuffle with no byte of another executor seen in place: sort shuffle fetches"
                    + " over Netty through the loopback device, ours by READs over the model of a link, in turn; with"
                    + " --fabric tcp ours reads over TCP through the loopback device, too. The model is never faster"
                    + " than the link that is stated, but it copies with a processor, and wakes some 50 us late:"
                    + " its CPU time is shown apart and is in no ratio of CPU time, but"
                    + " on a machine with few processors it is in the ratios of time.",
            "",
            "bin/bench remote --guests --help describes jobs across two QEMU machines.",
            "",
            "Netty is not modelled: it has what the loopback device gives, with no link's delay or limit.",
            ""
        },
        exitCodeList = {
            "0:all cases ran, and moved the same records on all",
            "1:a case failed or moved different records, or Spark did not start",
            "2:an option was wrong"
        })
public final class RemoteBench extends Tool {
    @Mixin
    RemoteOptions options = new RemoteOptions();

    /** Called by {@code bin/bench remote}. */
    public static void main(String[] args) {
        run(new RemoteBench(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check(options::check);
        out.println("link of each executor with ours: " + options.settings().get("link"));
        ShuffleReport report = new Comparison("remote", options, out).run();
        out.println(ShuffleTables.render(report));
        out.println(RemoteTable.render(report));
        out.println("s: median (least-greatest); a / b / c (/ d): sort-disk / sort-tmpfs / sort-bare (/ ours);"
                + " ratios above 1: ours needs less; a task: a reduce task");
        options.sayWhereKept(out);
        return report.acceptable() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }
}
