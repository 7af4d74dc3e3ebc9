// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

class DirectoryCopyingTest extends DirectoryContract {
    DirectoryCopyingTest() {
        super(false);
    }
}
