/** Tests. */
@NullMarked
package io.rdmashuffle.bench.shuffle;

import org.jspecify.annotations.NullMarked;
