"""The options of the command."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".local" / "verify-google"
LOCATION = "us-central1"
_PROJECT = re.compile(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
_EXAMPLE = "make verify-google PROJECT=my-project BUDGET=3"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one run. `budget` is 0 if the costs are only to be printed."""

    project: str
    location: str
    budget: float
    clean: bool
    rehearse: bool
    folder: Path


def parse(arguments: Sequence[str]) -> Options:
    """Return the options. Exits with 2 after a message about wrong ones."""
    parser = argparse.ArgumentParser(
        prog="make verify-google",
        description="Deploy to Google Cloud and the emulator; compare (docs/architecture/verify-google.md).",
    )
    parser.add_argument("--project", default="", help="the id of the project that pays")
    parser.add_argument("--budget", default="", help="the dollars that may be spent; without, only the costs")
    parser.add_argument("--location", default="", help=f"the region (default: {LOCATION})")
    parser.add_argument("--clean", default="", help="if not empty, only delete what earlier runs left")
    parser.add_argument(
        "--rehearse", action="store_true", help="let an emulator answer at Google's addresses; costs nothing"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="journals and reports")
    given = parser.parse_args(arguments)
    project = given.project or ("rehearsal" if given.rehearse else "")
    if not project:
        parser.error(f"PROJECT is missing. Name the project that pays: {_EXAMPLE}")
    if not _PROJECT.fullmatch(project):
        parser.error(f"PROJECT={project} is not the id of a project. List yours: gcloud projects list")
    try:
        budget = float(given.budget.lstrip("$") or ("1000" if given.rehearse else "0"))
    except ValueError:
        budget = math.nan
    if not 0 <= budget < math.inf:
        parser.error(f"BUDGET={given.budget} is not a number of dollars: {_EXAMPLE}")
    return Options(
        project=project,
        location=given.location or LOCATION,
        budget=budget,
        clean=given.clean not in ("", "0"),
        rehearse=given.rehearse,
        folder=given.folder.resolve(),
    )
