// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.ServerProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The demo's end of one {@link QueryServer}: starts it, asks, waits for answers with a deadline.
 *
 * <p><b>Threading:</b> one request at a time. <b>Ownership:</b> owns the process and ends it on close.
 */
final class QuerySession implements AutoCloseable {
    private final ServerProcess process;
    private final Duration timeout;

    /**
     * Starts the server and waits until its executors can be asked.
     *
     * @param log takes the server's standard error
     * @throws IOException if it did not start; the message names the log
     */
    QuerySession(JavaProcess server, Path log, Duration timeout) throws IOException, InterruptedException {
        this.timeout = timeout;
        this.process = new ServerProcess(server, log, Protocol.PREFIX);
        QueryReply ready = await();
        if (!ready.ok()) {
            close();
            throw new IOException("Spark did not start: " + reason(log, ready.error()) + "; see " + log);
        }
    }

    /** Returns the last innermost cause in the log, or another known reason. */
    private static String reason(Path log, String otherwise) throws IOException {
        return Files.readAllLines(log).stream()
                .filter(line -> line.startsWith("Caused by: ") || line.startsWith("Exception in thread"))
                .reduce((first, last) -> last)
                .orElse(otherwise);
    }

    private QueryReply await() throws InterruptedException {
        ServerProcess.Reply reply = process.await(timeout);
        try {
            return reply.came() ? Protocol.reply(reply.line()) : QueryReply.failed("", reply.error());
        } catch (JsonProcessingException e) {
            return QueryReply.failed("", "the Spark driver sent no valid reply: " + e.getOriginalMessage());
        }
    }

    /** Returns whether the server accepts requests; not after a timeout or a crash. */
    boolean isAlive() {
        return process.isAlive();
    }

    /** Asks and waits; whatever goes wrong is in the reply. */
    QueryReply ask(QueryRequest request) throws InterruptedException {
        try {
            process.send(Protocol.request(request));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write " + request, e);
        }
        return await();
    }

    @Override
    public void close() {
        process.close();
    }
}
