"""Write the argument classes, the signatures of resources and the reference pages from the messages.

A field of a message of the API is written once: as a field of a spec, with its documentation below it. `make
generate` runs this package; `tests/setup/checks/test_generated_files.py` compares what it writes with the
files.
"""
