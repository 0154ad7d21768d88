"""`make soak`: kills over all kinds of resource (`soak.kills`).

`make soak ARGS=jobs`: random histories of jobs on the engine in this process, compared with a model of
docs/guides/programs/rerun.md (`soak.jobs`).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import signal
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[each]) for each in (1, 2)]

from soak.jobs.history import Counts, Disagreement, History, shortened  # noqa: E402
from soak.jobs.plan import make  # noqa: E402
from soak.kills import driver  # noqa: E402
from vertex_emulator.daemon import reset  # noqa: E402

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
        report = driver.Report(file=options.report, seed=options.seed or _any_seed())
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
    parser.add_argument("--histories", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--seed", type=int, help="seed of the first one (default: random)")
    options = parser.parse_args(arguments)
    first, counts, wrong = options.seed or _any_seed(), Counts(), 0
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        data_dir = Path(folder)
        try:
            for seed in range(first, first + options.histories):
                printed = io.StringIO()
                try:
                    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                        History(data_dir, counts=counts).run(make(seed))
                except Disagreement as found:
                    wrong += 1
                    print(f"{printed.getvalue()}seed {seed}: {found}\nthe shortest history:", flush=True)
                    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                        steps = shortened(data_dir, make(seed))
                    print(*steps, sep="\n", flush=True)
        finally:
            reset.reset(data_dir)
    total = ", ".join(f"{count} {name}" for name, count in vars(counts).items())
    print(f"{options.histories} histories, seeds from {first}: {total}, {wrong} disagreements")
    return 1 if wrong else 0


def _any_seed() -> int:
    return random.SystemRandom().randrange(1, 1_000_000)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
