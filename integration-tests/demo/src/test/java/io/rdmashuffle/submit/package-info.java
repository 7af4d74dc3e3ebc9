/** Tests. */
@NullMarked
package io.rdmashuffle.submit;

import org.jspecify.annotations.NullMarked;
