package io.rdmashuffle.it.demo;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.rdmashuffle.it.JavaProcess;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The demo's end of one {@link QueryServer}: starts it, asks, waits for answers with a deadline.
 *
 * <p><b>Threading:</b> one request at a time; a thread of its own reads what the server prints. <b>Ownership:</b> owns the
 * process and ends it on close.
 */
final class QuerySession implements AutoCloseable {
    private static final long STOP_SECONDS = 30;
    private static final QueryReply GONE = QueryReply.failed("", "the Spark driver ended");

    private final Process process;
    private final BufferedWriter requests;
    private final BlockingQueue<QueryReply> replies = new LinkedBlockingQueue<>();
    private final Duration timeout;

    /**
     * Starts the server and waits until its executors can be asked.
     *
     * @param log takes the server's standard error, and whatever it prints beside replies
     * @throws IOException if it did not start; the message names the log
     */
    QuerySession(JavaProcess server, Path log, Duration timeout) throws IOException, InterruptedException {
        this.timeout = timeout;
        ProcessBuilder.Redirect toLog = ProcessBuilder.Redirect.appendTo(log.toFile());
        this.process = server.builder().redirectError(toLog).start();
        this.requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
        Thread reader = new Thread(this::readReplies, "demo-replies-" + process.pid());
        reader.setDaemon(true);
        reader.start();
        QueryReply ready = await();
        if (!ready.ok()) {
            close();
            throw new IOException("Spark did not start: " + reason(log, ready.error()) + "; see " + log);
        }
    }

    /** Returns the innermost cause that the log names last, or what is known otherwise. */
    private static String reason(Path log, String otherwise) throws IOException {
        return Files.readAllLines(log).stream()
                .filter(line -> line.startsWith("Caused by: ") || line.startsWith("Exception in thread"))
                .reduce((first, last) -> last)
                .orElse(otherwise);
    }

    private void readReplies() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Optional<QueryReply> reply = Protocol.reply(line);
                reply.ifPresent(replies::add);
            }
        } catch (IOException e) {
            replies.add(QueryReply.failed("", "reading from the Spark driver: " + e.getMessage()));
        } finally {
            replies.add(GONE);
        }
    }

    private QueryReply await() throws InterruptedException {
        QueryReply reply = replies.poll(timeout.toMillis(), TimeUnit.MILLISECONDS);
        if (reply == null) {
            process.destroyForcibly();
            return QueryReply.failed("", "no answer within " + timeout.toSeconds() + " s");
        }
        return reply;
    }

    /** Returns whether the server can still be asked; after a time-out or a crash it cannot. */
    boolean isAlive() {
        return process.isAlive();
    }

    /** Asks and waits; whatever goes wrong is in the reply. */
    QueryReply ask(QueryRequest request) throws InterruptedException {
        try {
            requests.write(Protocol.request(request));
            requests.newLine();
            requests.flush();
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write " + request, e);
        } catch (IOException e) {
            return GONE;
        }
        return await();
    }

    /** Lets the server end by closing its input; if it does not, ends it and its executors. */
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
