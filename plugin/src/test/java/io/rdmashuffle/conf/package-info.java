// SPDX-License-Identifier: Apache-2.0
/** Tests of the configuration, and the generator of its documentation. Needs no native code and no Spark. */
@NullMarked
package io.rdmashuffle.conf;

import org.jspecify.annotations.NullMarked;
