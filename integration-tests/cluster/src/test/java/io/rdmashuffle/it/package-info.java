/** Tests. */
@NullMarked
package io.rdmashuffle.it;

import org.jspecify.annotations.NullMarked;
