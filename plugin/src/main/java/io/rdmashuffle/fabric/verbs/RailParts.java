// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.verbs.connect.StagingService;
import io.rdmashuffle.fabric.verbs.read.PendingReads;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.util.function.LongSupplier;

/**
 * State that all rails of a fabric share, and that survives reopening.
 *
 * @param fabricId tells peers that a rail that is back is of the same process
 * @param lost told that a rail is lost, on that rail's control thread
 */
record RailParts(
        VerbsLibrary library,
        long fabricId,
        VerbsSettings settings,
        PendingReads reads,
        StagingService staging,
        Admissions admissions,
        Runnable lost,
        LongSupplier nanoClock) {}
