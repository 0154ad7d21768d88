"""Write the compiled files of the emulator: API definitions, and the proxy's agent for Java."""
