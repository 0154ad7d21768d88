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

FOLDER = Path(__file__).resolve().parents[2] / ".local" / "verify-google"
LOCATION = "us-central1"
_REHEARSAL_PROJECT = "rehearsal"
_PROJECT = re.compile(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one run. `budget` is None if the user is to be asked."""

    project: str
    location: str
    budget: float | None
    clean: bool
    record: bool
    rehearse: bool
    folder: Path


def parse(arguments: Sequence[str]) -> Options | None:
    """Return the options, or None after a message about the wrong ones."""
    parser = argparse.ArgumentParser(
        prog="make verify-google",
        description="Deploy to Google Cloud and the emulator; compare (docs/architecture/verify-google.md).",
    )
    parser.add_argument("--project", default="", help="the id of the project that pays")
    parser.add_argument(
        "--budget", default="", help="the dollars that may be spent; without it, you are asked"
    )
    parser.add_argument("--location", default="", help=f"the region (default: {LOCATION})")
    parser.add_argument("--clean", default="", help="if not empty, only delete what earlier runs left")
    parser.add_argument(
        "--record", action="store_true", help="write Google's answers to tests/parity/google, for our tests"
    )
    parser.add_argument(
        "--rehearse", action="store_true", help="let an emulator answer at Google's addresses; costs nothing"
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help=f"journals and reports (default: {FOLDER})"
    )
    given = parser.parse_args(arguments)
    project = given.project or (_REHEARSAL_PROJECT if given.rehearse else "")
    if problem := _problem(project, given.budget):
        sys.stderr.write(f"{problem}\n")
        return None
    return Options(
        project=project,
        location=given.location or LOCATION,
        budget=float(given.budget.lstrip("$")) if given.budget else None,
        clean=given.clean not in ("", "0"),
        record=given.record,
        rehearse=given.rehearse,
        folder=given.folder.resolve(),
    )


def _problem(project: str, budget: str) -> str | None:
    example = "make verify-google PROJECT=my-project BUDGET=3"
    if not project:
        return f"PROJECT is missing. Name the project that pays: {example}"
    if not _PROJECT.fullmatch(project):
        return f"PROJECT={project} is not the id of a project. List yours: gcloud projects list"
    with contextlib.suppress(ValueError):
        if not budget or 0 < float(budget.lstrip("$")) < math.inf:
            return None
    return f"BUDGET={budget} is not a number of dollars: {example}"
