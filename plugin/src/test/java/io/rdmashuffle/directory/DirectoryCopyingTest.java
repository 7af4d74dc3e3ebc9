package io.rdmashuffle.directory;

class DirectoryCopyingTest extends DirectoryContract {
    DirectoryCopyingTest() {
        super(false);
    }
}
