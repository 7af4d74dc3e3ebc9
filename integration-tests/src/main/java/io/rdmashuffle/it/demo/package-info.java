/**
 * The demo: TPC-DS queries on sort shuffle and on ours, results compared, times and bytes by path shown.
 *
 * <p>Each shuffle manager gets a virtual machine and a local cluster of its own ({@link QueryServer}); the demo's own
 * process ({@link Demo}) starts no Spark and talks to both over their standard streams. Must never decide that results
 * are equal on anything less than all rows.
 */
@NullMarked
package io.rdmashuffle.it.demo;

import org.jspecify.annotations.NullMarked;
