/** Tests. */
@NullMarked
package io.rdmashuffle.bench.tpcds;

import org.jspecify.annotations.NullMarked;
