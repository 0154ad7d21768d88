"""Write the argument classes and the signatures of resources from the messages.

A field of a message of the API is written once: as a field of a spec, with its documentation below it. `make
generate` runs this package, and with it `scripts.reference`. `tests/setup/checks/test_generated_files.py`
compares what they write with the files.
"""
