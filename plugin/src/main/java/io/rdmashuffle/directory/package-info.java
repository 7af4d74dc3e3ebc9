/**
 * Where an executor's map outputs are: tables in registered memory that peers read one-sidedly.
 *
 * <p>May use {@code io.rdmashuffle.fabric} and {@code io.rdmashuffle.memory}. Must never ask a peer's processor for
 * anything, and never trust a byte that a peer wrote before its checksum has been looked at.
 */
@NullMarked
package io.rdmashuffle.directory;

import org.jspecify.annotations.NullMarked;
