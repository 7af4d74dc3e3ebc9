/** Tests. */
@NullMarked
package io.rdmashuffle.it.bench.shuffle;

import org.jspecify.annotations.NullMarked;
