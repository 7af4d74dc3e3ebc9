package io.rdmashuffle.shuffle;

/**
 * One map output.
 *
 * @param shuffleId shuffle
 * @param mapId task attempt that wrote the output
 */
record OutputKey(int shuffleId, long mapId) {}
