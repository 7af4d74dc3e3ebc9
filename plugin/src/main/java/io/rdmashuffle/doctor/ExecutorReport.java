// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import java.io.Serializable;
import java.util.List;

/**
 * Report of one executor about itself and its paths to others.
 *
 * @param executorId Spark's name of it
 * @param host its host
 * @param verdict verdict of its host's doctor, as of {@link io.rdmashuffle.doctor.report.HostReport#verdict}
 * @param findings of that doctor that are not {@code ok}, with their remedies
 * @param pairs one for each other executor
 */
record ExecutorReport(String executorId, String host, String verdict, List<String> findings, List<PairReport> pairs)
        implements Serializable {
    private static final long serialVersionUID = 1L;
}
