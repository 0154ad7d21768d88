"""Write all generated files, and print the paths of those that changed; with `--check`, only print them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from scripts.arguments.catalog import ROOT
from scripts.reference.files import outdated


def main(arguments: Sequence[str]) -> int:
    """Write the files, in an order in which each uses the ones before."""
    parser = argparse.ArgumentParser(prog="python -m scripts.arguments", description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args(arguments).check:
        names = [str(path.relative_to(ROOT)) for path in outdated()]
        for name in names:
            sys.stdout.write(f"{name}: not what the code says. Run `make generate`.\n")
        return bool(names)
    while changed := outdated():
        for path, text in changed.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
