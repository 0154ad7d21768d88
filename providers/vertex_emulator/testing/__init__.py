"""For tests of programs that use Vertex AI: an emulator of their own, and faults on request."""
