"""Random histories of a job on the engine in the test's process; `make soak ARGS=jobs` runs more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from soak.jobs.history import Disagreement, History, shortened
from soak.jobs.model import Command, Declared, Spec
from soak.jobs.plan import Step, make
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

SEED = int(os.environ.get("SOAK_SEED") or 6000)

RUNS, OTHER = Spec(program="runs", salt=1), Spec(program="runs", salt=2)
KEPT = Declared(spec=Spec(program="succeeds", salt=1), on_delete="cancel")
RETRIED = Declared(spec=Spec(program="fails", salt=1), rerun="on_failure", rerun_limit=2)
REPLACE = Command(replace=True)
HISTORIES = {
    "a failure that is recorded, and deleted": [
        Step(declared=RETRIED),
        Step(declared=RETRIED, command=Command(verb="refresh")),
        Step(declared=RETRIED, behind="delete"),
    ],
    "replaced and kept, and the newest deleted": [
        Step(declared=KEPT),
        Step(declared=KEPT, command=REPLACE),
        Step(declared=KEPT, behind="delete"),
    ],
    "replaced and kept, twice": [
        Step(declared=KEPT),
        Step(declared=KEPT, command=REPLACE),
        Step(declared=KEPT, command=REPLACE),
    ],
}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("emulator")
    launcher.ensure(made)
    yield made
    emulator_reset.reset(made)


SEEDS = [
    pytest.param(SEED + each, id=f"history {each}", marks=() if each < 2 else pytest.mark.slow)
    for each in range(20)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_follows_the_rules_of_reruns_despite_disturbances(data_dir: Path, seed: int) -> None:
    """SOAK_SEED is the seed of the first history; the default is fixed, so that the change decides alone."""
    steps = make(seed)
    try:
        History(data_dir).run(steps)
    except Disagreement as first:
        fewer = [f"  {each}" for each in shortened(data_dir, steps)]
        pytest.fail("\n".join([f"seed {seed}: {first}", "the shortest history that shows it:", *fewer]))


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES.keys())
def test_former_failures(data_dir: Path, history: list[Step]) -> None:
    History(data_dir).run(history)


def test_never_edited_after_a_kill(data_dir: Path) -> None:
    history = History(data_dir)
    assert list(history.do(Step(declared=Declared(spec=RUNS, rerun="never")))) == []
    history.forget()
    history.run([Step(declared=Declared(spec=OTHER, rerun="never"))])


def test_a_seed_determines_the_history() -> None:
    assert make(7) == make(7)
    assert make(7) != make(8)
