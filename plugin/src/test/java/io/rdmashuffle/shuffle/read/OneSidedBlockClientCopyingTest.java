package io.rdmashuffle.shuffle.read;

class OneSidedBlockClientCopyingTest extends ClientContract {
    OneSidedBlockClientCopyingTest() {
        super(false);
    }
}
