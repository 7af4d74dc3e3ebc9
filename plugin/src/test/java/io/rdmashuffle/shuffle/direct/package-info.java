/** Tests. */
@NullMarked
package io.rdmashuffle.shuffle.direct;

import org.jspecify.annotations.NullMarked;
