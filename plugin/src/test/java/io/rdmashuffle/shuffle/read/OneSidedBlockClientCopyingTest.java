// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

class OneSidedBlockClientCopyingTest extends ClientContract {
    OneSidedBlockClientCopyingTest() {
        super(false);
    }
}
