// SPDX-License-Identifier: Apache-2.0
/** Tests of the registry on a transport in memory that loses, doubles and reorders messages. Needs no Spark. */
@NullMarked
package io.rdmashuffle.registry;

import org.jspecify.annotations.NullMarked;
