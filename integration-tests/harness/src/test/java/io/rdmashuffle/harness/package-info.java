/** Tests. */
@NullMarked
package io.rdmashuffle.harness;

import org.jspecify.annotations.NullMarked;
