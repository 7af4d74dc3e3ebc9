/** Tests. */
@NullMarked
package io.rdmashuffle.harness.tpcds;

import org.jspecify.annotations.NullMarked;
