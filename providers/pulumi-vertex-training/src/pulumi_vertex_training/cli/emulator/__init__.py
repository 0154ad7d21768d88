"""The commands of `vertex-emulator`, as `vertex-training emulator`."""
