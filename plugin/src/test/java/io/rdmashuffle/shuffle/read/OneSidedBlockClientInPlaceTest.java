// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

class OneSidedBlockClientInPlaceTest extends ClientContract {
    OneSidedBlockClientInPlaceTest() {
        super(true);
    }
}
