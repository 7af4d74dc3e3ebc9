/** Tests. */
@NullMarked
package io.rdmashuffle.bench.fabric;

import org.jspecify.annotations.NullMarked;
