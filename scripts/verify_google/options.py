"""The options of the command."""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.verify_google.cases import CASES
from scripts.verify_google.cases.case import Case
from scripts.verify_google.plan import make_plan, table
from scripts.verify_google.prices import UnknownPriceError
from scripts.verify_google.recording import RECORDED

FOLDER = Path(__file__).resolve().parents[2] / ".local" / "verify-google"
LOCATION = "us-central1"

_PROJECT = re.compile(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one run. `budget` is None if the user is to be asked."""

    project: str
    location: str
    budget: float | None
    yes: bool
    clean: bool
    record: Path | None
    cases: tuple[Case, ...]
    folder: Path


def parse(arguments: Sequence[str]) -> Options | None:
    """Return the options, or None after a message about the wrong ones."""
    parser = argparse.ArgumentParser(
        prog="make verify-google",
        description="Compare the emulator with Google Cloud (docs/architecture/verify-google.md).",
    )
    names = [case.name for case in CASES]
    parser.add_argument("--project", default="", help="the id of the project that pays")
    parser.add_argument(
        "--budget", default="", help="the dollars that may be spent; without it, you are asked"
    )
    parser.add_argument("--location", default="", help=f"the region (default: {LOCATION})")
    parser.add_argument("--clean", default="", help="if not empty, only delete what earlier runs left")
    parser.add_argument("--yes", action="store_true", help="spend what the table shows, without a question")
    parser.add_argument("--only", action="append", choices=names, help="run this case; may be repeated")
    parser.add_argument(
        "--record",
        type=Path,
        nargs="?",
        const=RECORDED / "answers.json",
        help="add the answers to a file (default: tests/parity/google/answers.json, for our tests)",
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help=f"journals and reports (default: {FOLDER})"
    )
    given = parser.parse_args(arguments)
    location = given.location or LOCATION
    cases = tuple(case for case in CASES if not given.only or case.name in given.only)
    problem = _problem(given.project, given.budget)
    if problem is not None:
        if not given.project and not given.clean:
            with contextlib.suppress(UnknownPriceError):
                sys.stdout.write(table(make_plan(cases, location=location, budget=None), cases) + "\n\n")
        sys.stdout.flush()
        sys.stderr.write(f"{problem}\n")
        return None
    return Options(
        project=given.project,
        location=location,
        budget=float(given.budget.lstrip("$")) if given.budget else None,
        yes=given.yes,
        clean=given.clean not in ("", "0"),
        record=given.record,
        cases=cases,
        folder=given.folder,
    )


def _problem(project: str, budget: str) -> str | None:
    example = "make verify-google PROJECT=my-project BUDGET=1"
    if not project:
        return f"PROJECT is missing. Name the project that pays: {example}"
    if not _PROJECT.fullmatch(project):
        return f"PROJECT={project} is not the id of a project. List yours: gcloud projects list"
    with contextlib.suppress(ValueError):
        if not budget or 0 < float(budget.lstrip("$")) < math.inf:
            return None
    return f"BUDGET={budget} is not a number of dollars: {example}"
