/** Tests. */
@NullMarked
package io.rdmashuffle.bench;

import org.jspecify.annotations.NullMarked;
