// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

/**
 * An entry, and the generation of its shuffle's slot that it was read under.
 *
 * @param generation see {@link SlotWatch}
 */
public record Located(DirectoryEntry entry, long generation) {}
