"""How emulator and supervisor leave word for each other."""
