"""`make soak`: kills at random points over all kinds of resource, each followed by one `make up`."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[each]) for each in (2, 3)]

from soak.kills.driver import Driver, Report  # noqa: E402


def main(arguments: list[str]) -> int:
    """Return 0 if everything was as declared after every kill, else 1."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="stop after so many")
    parser.add_argument("--minutes", type=float, default=120.0, help="stop after so many")
    parser.add_argument("--seed", type=int, help="default: random")
    parser.add_argument("--history", help="only these histories of the seed, as in 3,7")
    parser.add_argument("--lanes", type=int, default=2, help="histories that run side by side")
    parser.add_argument("--report", type=Path, default=Path("soak-report.json"), help="file of the report")
    parser.add_argument("--resume", action="store_true", help="continue the report, with its seed")
    options = parser.parse_args(arguments)
    if options.resume:
        report = Report.read(options.report)
    else:
        report = Report(file=options.report, seed=options.seed or random.SystemRandom().randrange(1, 10**6))
    print(f"seed {report.seed}, {len(report.kills)} kills so far; report in {report.file}", flush=True)
    only = tuple(map(int, options.history.split(","))) if options.history else ()
    Driver(
        report=report, kills=options.kills, seconds=options.minutes * 60, lanes=options.lanes, only=only
    ).run()
    print(report.table(), flush=True)
    return 1 if report.findings() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
