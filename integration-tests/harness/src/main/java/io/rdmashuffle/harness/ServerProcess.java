// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * JVM that answers requests: one line in, one line out. Replies have a prefix, because libraries print to standard
 * output, too; other output goes to its log or is dropped.
 *
 * <p><b>Threading:</b> one request at a time; a thread of its own reads what the server prints. <b>Ownership:</b> owns
 * the process and ends it on close, the server's children too.
 */
public final class ServerProcess implements AutoCloseable {
    private static final long STOP_SECONDS = 30;

    private final String prefix;
    private final Process process;
    private final BufferedWriter requests;
    private final BlockingQueue<Reply> replies = new LinkedBlockingQueue<>();

    /** Result: a line without its prefix, or the reason why none came. */
    public record Reply(String line, String error) {
        /** Returns whether there is a line. */
        public boolean came() {
            return error.isEmpty();
        }
    }

    /**
     * Starts the server.
     *
     * @param log takes the server's standard error
     * @param prefix what lines that are replies begin with
     */
    public ServerProcess(JavaProcess server, Path log, String prefix) throws IOException {
        this.prefix = prefix;
        this.process = server.builder()
                .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
        this.requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
        Thread reader = new Thread(this::readReplies, "replies-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    private void readReplies() {
        String end = "the Spark driver ended";
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith(prefix)) {
                    replies.add(new Reply(line.substring(prefix.length()), ""));
                }
            }
        } catch (IOException e) {
            end = "reading from the Spark driver: " + e.getMessage();
        } finally {
            replies.add(new Reply("", end));
        }
    }

    /** Waits for the next reply; a server that sends none in time is ended. */
    public Reply await(Duration timeout) throws InterruptedException {
        Reply reply = replies.poll(timeout.toMillis(), TimeUnit.MILLISECONDS);
        if (reply == null) {
            process.destroyForcibly();
            return new Reply("", "no answer within " + timeout.toSeconds() + " s");
        }
        if (!reply.came()) {
            // It is the last one: whoever asks a server that ended must find it again, and not wait for a line.
            replies.add(reply);
        }
        return reply;
    }

    /** Sends a line, without waiting. Returns false if the server is gone. */
    public boolean send(String request) {
        try {
            requests.write(request);
            requests.newLine();
            requests.flush();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns whether the server accepts requests; not after a timeout or a crash. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** Returns the server's process. */
    public ProcessHandle handle() {
        return process.toHandle();
    }

    /** Returns the processes that the server started, and theirs. */
    public Stream<ProcessHandle> descendants() {
        return process.descendants();
    }

    /** Closes the server's input so that it ends; if it does not, ends it and its children. */
    @Override
    public void close() {
        try {
            requests.close();
        } catch (IOException e) {
            // The server is gone already, which is what closing is for.
            process.destroy();
        }
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            process.destroyForcibly();
        }
    }
}
