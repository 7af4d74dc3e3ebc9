package io.rdmashuffle.shuffle.read;

class OneSidedBlockClientInPlaceTest extends ClientContract {
    OneSidedBlockClientInPlaceTest() {
        super(true);
    }
}
