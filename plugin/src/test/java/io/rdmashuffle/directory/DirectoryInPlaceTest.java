package io.rdmashuffle.directory;

class DirectoryInPlaceTest extends DirectoryContract {
    DirectoryInPlaceTest() {
        super(true);
    }
}
