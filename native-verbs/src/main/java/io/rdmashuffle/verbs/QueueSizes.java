// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

/**
 * Lengths of the queues of a pair.
 *
 * @param sends most requests posted and not completed
 * @param receives most receives posted; ignored with a shared receive queue
 * @param piecesPerRequest most pieces of local memory in one request
 * @param inlineBytes longest message carried in the request itself
 */
public record QueueSizes(int sends, int receives, int piecesPerRequest, int inlineBytes) {}
