"""A proxy that ends connections to Google's hosts in the emulator, and passes all others through."""
