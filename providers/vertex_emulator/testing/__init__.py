"""A pytest plugin: an emulator for the tests of programs that use Vertex AI, and faults on request."""
