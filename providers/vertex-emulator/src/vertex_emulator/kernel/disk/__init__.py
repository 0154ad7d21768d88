"""The data folder and the disk that it is on: ownership, locks, free space, removal of folders."""
