"""How another process finds, starts and controls an emulator on this machine."""
