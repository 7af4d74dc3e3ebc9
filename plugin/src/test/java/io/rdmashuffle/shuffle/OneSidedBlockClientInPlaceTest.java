package io.rdmashuffle.shuffle;

class OneSidedBlockClientInPlaceTest extends ClientContract {
    OneSidedBlockClientInPlaceTest() {
        super(true);
    }
}
