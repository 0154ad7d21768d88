"""A pytest plugin: an emulator for the tests of programs that use Vertex AI, with fault injection."""
