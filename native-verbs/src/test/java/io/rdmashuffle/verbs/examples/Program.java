// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.io.IOException;
import java.io.PrintStream;
import java.util.List;

/**
 * What both programs have in common: help, messages, exit codes.
 *
 * <p><b>Threading:</b> one thread.
 *
 * @param name of the class with the main method
 * @param summary what it does, in lines
 * @param options what it can be told
 * @param body what it does
 */
record Program(String name, String summary, List<Option> options, Body body) {
    static final int OK = 0;
    static final int FAILED = 1;
    static final int MISUSED = 2;

    private static final int COLUMN = 30;
    private static final int WIDTH = 110;

    /** What a program does. */
    interface Body {
        /**
         * Runs to its end.
         *
         * @param out for what was asked for
         */
        void run(Arguments arguments, PrintStream out) throws MisuseException, IOException, RdmaUnavailableException;
    }

    /** Runs the program; returns its exit code. */
    int run(PrintStream out, PrintStream err, String... words) {
        try {
            Arguments arguments = Arguments.parse(options, words);
            if (arguments.has(Option.HELP)) {
                out.print(help());
            } else {
                body.run(arguments, out);
            }
            return OK;
        } catch (MisuseException e) {
            err.println(name + ": " + e.getMessage() + "; --help explains");
            return MISUSED;
        } catch (IOException | RdmaUnavailableException | NativeException | IllegalStateException e) {
            err.println(name + ": " + e.getMessage());
            return FAILED;
        }
    }

    private String help() {
        StringBuilder help = new StringBuilder("Usage: java -cp JARS io.rdmashuffle.verbs.examples." + name
                + " [OPTION...]                a server\n       java -cp JARS io.rdmashuffle.verbs.examples." + name
                + " [OPTION...] SERVER[:PORT]  its client\n" + summary);
        for (Option option : options) {
            String left = "  " + option.word() + (option.takesValue() ? " " + option.value() : "");
            help.append(left).append(" ".repeat(Math.max(1, COLUMN - left.length())));
            int column = COLUMN;
            for (String word : option.meaning().split(" ", -1)) {
                if (column + word.length() > WIDTH) {
                    help.append('\n').append(" ".repeat(COLUMN));
                    column = COLUMN;
                }
                help.append(column == COLUMN ? "" : " ").append(word);
                column += word.length() + 1;
            }
            help.append('\n');
        }
        return help.append("Exit code 0: it went well; 1: it failed, with a message; 2: the command line is wrong.\n")
                .toString();
    }
}
