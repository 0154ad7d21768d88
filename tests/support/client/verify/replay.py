"""Run recorded cases against an emulator, and compare it with the recording."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google import journal, recording, sides
from scripts.verify_google.budget import Budget
from scripts.verify_google.cases import CASES
from scripts.verify_google.comparison import Comparison, compare
from scripts.verify_google.recorder import Pace

LONG = frozenset({"times-out"})
"""Cases that take a minute."""


def replayed(path: Path, endpoint: Endpoint, *, left_out: Collection[str] = LONG) -> list[Comparison]:
    """Return the comparisons of the recorded cases with an emulator."""
    recorded = recording.read(path)
    cases = [case for case in CASES if case.name in recorded and case.name not in left_out]
    with tempfile.TemporaryDirectory() as folder:
        run = journal.new_run()
        log = journal.Journal.begin(
            Path(folder), run=run, project=endpoint.project, location=endpoint.location, budget=0.0
        )
        side = sides.Side(
            endpoint=endpoint,
            run=run,
            journal=log,
            budget=Budget(1e6, log),
            pace=Pace(poll_seconds=0.1, limit_seconds=300.0),
        )
        found = sides.run_cases(cases, side, on_result=lambda _result: None)
    return [compare(recorded[case.name], found[case.name], case.allowed) for case in cases]


def problems(comparisons: list[Comparison]) -> list[str]:
    """Return what differs without a reason, as lines."""
    lines = []
    for each in comparisons:
        if each.emulator.outcome != "answered":
            lines.append(f"{each.case}: {each.emulator.reason}")
        for one in each.unexplained:
            lines.append(f"{each.case}, {one.step}, {one.path}: {one.google!r}, here {one.emulator!r}")
    return lines
