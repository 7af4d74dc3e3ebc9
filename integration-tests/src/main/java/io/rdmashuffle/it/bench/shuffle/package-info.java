/**
 * {@code bin/bench shuffle}: jobs that are mostly shuffle, on sort shuffle with files on disk, on sort shuffle with files in
 * memory, and on ours, in turn in one run.
 *
 * <p>Each of the three is an application of its own ({@link BenchServer}) that lives for the whole run; the bench's own
 * process starts no Spark and asks them one after the other over their standard streams. Must never report a ratio of jobs
 * that did not move the same records.
 */
@NullMarked
package io.rdmashuffle.it.bench.shuffle;

import org.jspecify.annotations.NullMarked;
