"""Write all files, and print the paths of those that changed."""

from __future__ import annotations

import sys

from scripts.arguments.catalog import ROOT
from scripts.reference.files import outdated


def main() -> int:
    """Write the files, in an order in which each uses the ones before."""
    while changed := outdated():
        for path, text in changed.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
