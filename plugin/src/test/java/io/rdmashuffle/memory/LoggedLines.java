// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/** What a class logs at WARN and above, or another level, until this is closed. */
public final class LoggedLines extends AbstractAppender implements AutoCloseable {
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Logger logger;

    private LoggedLines(Logger logger) {
        super("test", null, null, true, Property.EMPTY_ARRAY);
        this.logger = logger;
    }

    public static LoggedLines of(Class<?> type) {
        return of(type, Level.WARN);
    }

    /** Takes what a class logs at a level and above. */
    public static LoggedLines of(Class<?> type, Level level) {
        LoggedLines lines = new LoggedLines((Logger) LogManager.getLogger(type));
        lines.start();
        lines.logger.addAppender(lines);
        // After the appender, which gives the logger the root's level; that is ERROR until Spark has set up logging.
        lines.logger.setLevel(level);
        return lines;
    }

    @Override
    public void append(LogEvent event) {
        lines.add(event.getMessage().getFormattedMessage());
    }

    public List<String> all() {
        return List.copyOf(lines);
    }

    @Override
    public void close() {
        logger.removeAppender(this);
        stop();
    }
}
