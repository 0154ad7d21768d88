"""`make suites`: run suites that others wrote against the emulator (docs/guides/emulator/clients/)."""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[each]) for each in (1, 2)]

from suites import running  # noqa: E402
from suites.catalog import SUITES  # noqa: E402
from suites.results import Results, page  # noqa: E402


def main(arguments: list[str]) -> int:
    """Return 0 if every test passed or has a reason in the catalog, else 1."""
    parser = argparse.ArgumentParser(prog="make suites", description=__doc__)
    names = [suite.name for suite in SUITES]
    parser.add_argument("--only", action="append", choices=names, help="run this suite; may be repeated")
    parser.add_argument(
        "--write", action="store_true", help="write the results into docs/reference/suites.md"
    )
    options = parser.parse_args(arguments)
    found: list[Results] = []
    problems: list[str] = []
    for suite in SUITES:
        if options.only and suite.name not in options.only:
            continue
        print(f"{suite.name}: {suite.source}", file=sys.stderr, flush=True)
        try:
            found.append(running.run(suite))
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            said = str(getattr(error, "stderr", None) or "").strip()[-500:]
            problems.append(f"{suite.name} did not run: {error} {said}".rstrip())
            continue
        problems += [f"{suite.name}: {name} did not pass" for name in found[-1].unexplained()]
        problems += [
            f"{suite.name}: no test fails any more because it {why}. Remove the reason from the catalog."
            for why in found[-1].outdated()
        ]
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    print(f"{page.table(found, today=today)}\n{page.reasons(found)}")
    if options.write:
        text = page.PAGE.read_text(encoding="utf-8")
        page.PAGE.write_text(page.written(text, found, today=today), encoding="utf-8")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
