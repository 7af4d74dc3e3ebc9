// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

class DirectoryInPlaceTest extends DirectoryContract {
    DirectoryInPlaceTest() {
        super(true);
    }
}
