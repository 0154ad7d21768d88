"""Google Workflows: small programs of steps that call the emulator's own APIs."""
