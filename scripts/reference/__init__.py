"""Write docs/reference/ from the code: one module for each page, or for pages of one form.

`make generate` runs this package after `scripts.arguments`, whose catalog of resources it reads.
`tests/setup/checks/test_generated_files.py` compares the pages with the files.
"""
