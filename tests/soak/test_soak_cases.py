"""Former failures of the soak, each as the shortest history that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from soak.declaring import urn
from soak.model import Command, Declared, Spec
from soak.observing import states
from soak.plan import Step
from soak.stack import Stack

pytestmark = pytest.mark.slow

RUNS, OTHER = Spec(program="runs", salt=1), Spec(program="runs", salt=2)
FAILS, SUCCEEDS = Spec(program="fails", salt=1), Spec(program="succeeds", salt=1)
UP, REFRESH = Command(verb="up"), Command(verb="refresh")
REPLACE = Command(verb="up", replace=frozenset({"d0"}))
FORGET = "the job is deleted from the state, as by a kill before it was recorded"


def train(spec: Spec, **options: Any) -> Declared:
    return Declared(names=("d0",), spec=spec, **options)


def renamed(spec: Spec, **options: Any) -> Declared:
    return Declared(names=("d0-1", "d0"), spec=spec, **options)


KEPT = train(SUCCEEDS, on_delete="cancel")
RETRIED = train(FAILS, rerun="on_failure", rerun_limit=2)
HISTORIES: dict[str, list[Any]] = {
    "never, edited after a kill": [
        (train(RUNS, rerun="never"), UP),
        FORGET,
        (train(OTHER, rerun="never"), UP),
    ],
    "a failure that is recorded, and deleted": [(RETRIED, UP), (RETRIED, REFRESH), (RETRIED, UP, "delete")],
    "replaced and kept, and the newest deleted": [(KEPT, UP), (KEPT, REPLACE), (KEPT, UP, "delete")],
    "replaced and kept, twice": [(KEPT, UP), (KEPT, REPLACE), (KEPT, REPLACE)],
    "never, renamed and replaced on demand": [
        (train(SUCCEEDS, rerun="never"), UP),
        (renamed(SUCCEEDS, rerun="never"), UP),
        (renamed(SUCCEEDS, rerun="never"), REPLACE),
    ],
    "protected, renamed and replaced on demand": [
        (train(RUNS, protect_running=True), UP),
        (renamed(RUNS, protect_running=True), UP),
        (renamed(RUNS, protect_running=True), REPLACE),
    ],
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES.keys())
def test_former_failures(history: list[Any], tmp_path: Path) -> None:
    stack = Stack(folder=tmp_path / "project", slots=("d0",), defects=frozenset())
    stack._make_foreign()
    try:
        for step in history:
            if step is FORGET:
                stack.engine.run("state", "delete", urn("CustomJob", train(RUNS)), "--yes").ok()
                stack._states = states(stack.engine.checkpoint())
                continue
            declared, command, *behind = step
            stack._step(
                1,
                Step(
                    declared={"d0": declared},
                    command=command,
                    behind=dict.fromkeys(["d0"], *behind) if behind else {},
                ),
            )
    finally:
        stack.close()
