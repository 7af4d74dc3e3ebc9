/** Tests. */
@NullMarked
package io.rdmashuffle.it.bench.metadata;

import org.jspecify.annotations.NullMarked;
