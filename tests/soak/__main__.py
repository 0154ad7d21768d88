"""`make soak`: kills over all kinds of resource (`soak.kills`).

`make soak ARGS=jobs`: random histories of jobs on the real engine, compared with a model
(docs/guides/programs/rerun.md).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[each]) for each in (1, 2)]

from soak import runner  # noqa: E402
from soak.kills import driver  # noqa: E402
from soak.limits import DEFECTS, EXCLUDED  # noqa: E402

_REPORT = Path(".local/soak-report.json")


def main(arguments: list[str]) -> int:
    """Return 0 if all was as expected, else 1."""
    return _jobs(arguments[1:]) if arguments[:1] == ["jobs"] else _kills(arguments)


def _kills(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="make soak",
        description="Kill processes at random points, each time followed by one `make up`, and compare.",
    )
    parser.add_argument("--kills", type=int, default=1000, help="stop after so many (default: 1000)")
    parser.add_argument("--minutes", type=float, default=120.0, help="stop after so many (default: 120)")
    parser.add_argument("--seed", type=int, help="seed of all histories (default: random)")
    parser.add_argument("--history", help="only these histories of the seed, as in 3,7")
    parser.add_argument("--lanes", type=int, default=2, help="histories that run side by side (default: 2)")
    parser.add_argument("--report", type=Path, default=_REPORT, help=f"report in JSON (default: {_REPORT})")
    parser.add_argument("--resume", action="store_true", help="continue the report, with its seed")
    options = parser.parse_args(arguments)
    if options.resume:
        try:
            report = driver.Report.read(options.report)
        except (OSError, ValueError, TypeError) as error:
            parser.error(f"{options.report} cannot be continued: {error}")
    else:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        report = driver.Report(file=options.report, seed=options.seed or runner.any_seed())
    print(f"seed {report.seed}, {len(report.kills)} kills so far; the report is {report.file}", flush=True)
    if os.geteuid():
        print("no disk is ever full: only root can mount one", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    only = tuple(map(int, options.history.split(","))) if options.history else ()
    limits = {"kills": options.kills, "seconds": options.minutes * 60, "lanes": options.lanes}
    driver.Driver(report=report, only=only, **limits).run()
    print(report.table(), flush=True)
    return 1 if report.findings() else 0


def _jobs(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make soak ARGS=jobs", description="Random histories of jobs.")
    parser.add_argument(
        "--sequences", type=int, default=200, help="number of declarations with a history, 10 to a stack"
    )
    parser.add_argument("--stacks", type=int, help="instead of --sequences")
    parser.add_argument("--seconds", type=float, help="begin no stack that would end later")
    parser.add_argument("--seed", type=int, help="seed of the first stack; default: SOAK_SEED, else random")
    parser.add_argument("--slots", help="only these declarations, as in d0,d3, from a report")
    parser.add_argument("--steps", help="only these steps, as in 0,2,5, from a report")
    parser.add_argument(
        "--shorten", type=float, default=180.0, help="seconds to shorten a history that fails"
    )
    parser.add_argument("--strict", action="store_true", help="report known defects as well")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else int(os.environ.get("SOAK_SEED") or runner.any_seed())
    part = None
    if options.slots or options.steps:
        slots = options.slots.split(",") if options.slots else [f"d{n}" for n in range(runner.SLOTS)]
        steps = frozenset(map(int, options.steps.split(","))) if options.steps else None
        part = runner.Part(slots=tuple(slots), steps=steps)
    print(f"the first seed is {seed}; not checked:", flush=True)
    for excluded in (*EXCLUDED, *([] if options.strict else DEFECTS.values())):
        print(f"  {excluded}", flush=True)
    summary = runner.soak(
        seed=seed,
        stacks=options.stacks or -(-options.sequences // runner.SLOTS),
        seconds=options.seconds,
        part=part,
        shorten_seconds=options.shorten,
        defects=frozenset() if options.strict else frozenset(DEFECTS),
        print_line=lambda line: print(line, flush=True),
    )
    print(summary.line(), flush=True)
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
