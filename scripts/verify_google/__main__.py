"""`python -m scripts.verify_google`, which `make verify-google` runs."""

from __future__ import annotations

import sys

from scripts.verify_google.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
