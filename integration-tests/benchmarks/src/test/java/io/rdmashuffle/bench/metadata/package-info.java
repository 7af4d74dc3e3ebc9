/** Tests. */
@NullMarked
package io.rdmashuffle.bench.metadata;

import org.jspecify.annotations.NullMarked;
