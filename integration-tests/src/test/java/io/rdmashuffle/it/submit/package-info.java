/** Tests. */
@NullMarked
package io.rdmashuffle.it.submit;

import org.jspecify.annotations.NullMarked;
