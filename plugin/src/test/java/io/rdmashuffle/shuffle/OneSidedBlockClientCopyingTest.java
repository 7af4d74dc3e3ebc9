package io.rdmashuffle.shuffle;

class OneSidedBlockClientCopyingTest extends ClientContract {
    OneSidedBlockClientCopyingTest() {
        super(false);
    }
}
