"""The checks of a custom job, and the table of what the emulator does with each of its fields."""
