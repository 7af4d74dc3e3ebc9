/** Tests. */
@NullMarked
package io.rdmashuffle.it.bench;

import org.jspecify.annotations.NullMarked;
