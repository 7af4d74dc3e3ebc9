/**
 * Shuffles whose records lie bare in the pool, gathered by partition before they are copied there: neither compressed nor encrypted, so
 * that blocks of many map outputs are one stream. For serialisers whose records stand for themselves, and without map-side
 * combine. May use the shuffle package and Spark; decides nothing about paths and peers.
 */
@NullMarked
package io.rdmashuffle.shuffle.direct;

import org.jspecify.annotations.NullMarked;
