"""The command `vertex-emulator`. `vertex-training emulator` has the same options and functions."""
