package io.rdmashuffle.it.bench.metadata;

import io.rdmashuffle.it.cli.ByteSize;
import io.rdmashuffle.it.cli.Progress;
import io.rdmashuffle.it.cli.RunErrors;
import io.rdmashuffle.it.cli.UsageErrors;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code bin/bench metadata}: what finding map outputs costs, on simulated executors. */
@Command(
        name = "bench metadata",
        description = {
            "Simulates executors in one process, without Spark, on the plugin's own registry, pools, directories and indexes."
                    + " They join, publish map outputs of one byte for each partition, look all of them up as reduce tasks"
                    + " do, and remove them.",
            "",
            "Goals stand beside figures; one that is missed does not change the exit code. Registry messages are counted"
                    + " as encoded, without the envelope of Spark's RPC. A reader's first lookup (cold) connects, reads"
                    + " the directories and meets the indexes for the first time; later ones (warm) take random partitions.",
            ""
        },
        sortOptions = false,
        usageHelpWidth = 110,
        exitCodeListHeading = "%nExit code:%n",
        exitCodeList = {"0:all was simulated", "1:something failed, or the pools do not fit", "2:an option was wrong"})
public final class MetadataBench implements Callable<Integer> {
    /** Enough for the compilers to be done before what is reported. */
    private static final Scale WARM_UP = new Scale(1_000, 1_000, 10);

    private static final Simulation.Effort WARM_UP_EFFORT = new Simulation.Effort(10, 20, 0);
    private static final int WARM_UPS = 3;

    @Spec
    @Nullable
    CommandSpec spec;

    @Mixin
    MetadataOptions options = new MetadataOptions();

    private final PrintStream out = System.out;

    /** Called by {@code bin/bench metadata}. */
    public static void main(String[] args) {
        System.exit(commandLine(new MetadataBench()).execute(args));
    }

    /** Returns the parser of the options. */
    static CommandLine commandLine(MetadataBench bench) {
        CommandLine commandLine = new CommandLine(bench);
        commandLine.setParameterExceptionHandler(new UsageErrors());
        commandLine.setExecutionExceptionHandler(new RunErrors());
        return commandLine;
    }

    @Override
    public Integer call() throws Exception {
        check();
        List<Scale> scales = options.scales();
        for (Scale scale : scales) {
            checkRoom(scale);
        }
        List<Figures> figures = new ArrayList<>();
        try (Progress progress = new Progress(out, "simulations", WARM_UPS + scales.size())) {
            for (int i = 0; i < WARM_UPS; i++) {
                progress.starting("warm-up");
                simulate(WARM_UP, WARM_UP_EFFORT);
                progress.finished("warm-up " + (i + 1));
            }
            for (Scale scale : scales) {
                progress.starting(scale.toString());
                figures.add(simulate(scale, options.effort()));
                progress.finished(scale.toString());
            }
        }
        MetadataReport report = new MetadataReport(options.settings(), figures);
        out.println(report.render());
        Path json = options.json();
        if (json != null) {
            report.writeJson(json);
            out.println("written: " + json);
        }
        return CommandLine.ExitCode.OK;
    }

    private Figures simulate(Scale scale, Simulation.Effort effort) throws Exception {
        boolean inPlace = options.reads() == MetadataOptions.Reads.IN_PLACE;
        try (Simulation simulation = Simulation.open(scale, effort, options.directory(), inPlace)) {
            return simulation.run();
        }
    }

    private void checkRoom(Scale scale) throws IOException {
        long wanted = scale.executors() * SimulatedExecutor.poolBytes(scale);
        long free = Files.getFileStore(options.directory()).getUsableSpace();
        if (wanted > free) {
            throw new IOException("the pools of " + scale + " take " + ByteSize.format(wanted) + ", and "
                    + options.directory() + " has " + ByteSize.format(free) + "; lower --maps or --partitions");
        }
    }

    private void check() {
        try {
            options.check();
        } catch (IllegalArgumentException e) {
            if (spec == null) {
                throw e;
            }
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }
}
