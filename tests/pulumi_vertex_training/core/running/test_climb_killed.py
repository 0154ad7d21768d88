"""A climb is killed at each of its points, in both forms: never two live jobs, no rung twice, no lost job."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.client.in_process.climbs import ClimbTrial, ladder, trial
from support.client.in_process.trials import at_every_point
from support.client.kills.subjects import Declaration
from vertex_emulator.client.control import Control

SCARCE, SLOW, THERE = "n1-standard-16", "n1-standard-32", "n1-standard-8"
RUNGS = (
    {"strategy": "SPOT", "machine_spec": {"machine_type": SCARCE}},
    {"machine_spec": {"machine_type": SLOW}, "wait_for": "0.2s"},
    {"machine_spec": {"machine_type": THERE}},
)
LADDER = ladder(*RUNGS)
FAILED = ladder(*RUNGS[:2])


@pytest.fixture(scope="module", autouse=True)
def scarce(endpoint: Endpoint) -> Iterator[None]:
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    control.set_capacity(SCARCE, 0, wait_seconds=0.05)
    control.set_capacity(SLOW, 0, wait_seconds=600)
    yield
    control.clear_capacities()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A deployment, the one that is killed, and the one that follows (None: a destruction)."""

    name: str
    before: Declaration | None
    killed: Declaration
    then: Declaration | None


def of_spec(number: int, of: Declaration) -> Declaration:
    return dataclasses.replace(of, spec=f"spec-{number}")


OPERATIONS = (
    Operation(name="the first", before=None, killed=LADDER, then=LADDER),
    Operation(name="the first, then another spec", before=None, killed=LADDER, then=of_spec(2, LADDER)),
    Operation(name="the first, then a shorter ladder", before=None, killed=LADDER, then=ladder(*RUNGS[1:])),
    Operation(name="the first, then no ladder", before=None, killed=LADDER, then=Declaration()),
    Operation(name="the first, then a destruction", before=None, killed=LADDER, then=None),
    Operation(name="a replacement", before=of_spec(2, Declaration()), killed=LADDER, then=LADDER),
    Operation(
        name="a replacement, then back",
        before=of_spec(2, Declaration()),
        killed=LADDER,
        then=of_spec(2, LADDER),
    ),
    Operation(
        name="a replacement, then a destruction", before=of_spec(2, Declaration()), killed=LADDER, then=None
    ),
    Operation(name="a second pass", before=FAILED, killed=LADDER, then=LADDER),
)


@pytest.mark.parametrize("form", ["dynamic", "package"])
@pytest.mark.parametrize(
    "operation", [pytest.param(each, id=each.name, marks=pytest.mark.slow) for each in OPERATIONS]
)
def test_killed_at_every_point(data_dir: Path, operation: Operation, form: str) -> None:
    def begin() -> ClimbTrial:
        found = trial(data_dir, serves_package=form == "package")
        if operation.before:
            found.up(operation.before)
        return found

    points = at_every_point(
        begin, lambda found: found.up(operation.killed), lambda found, died: finish(found, operation, died)
    )
    assert points >= len(("a submission", "a cancellation", "a record"))


def finish(found: ClimbTrial, operation: Operation, died: str) -> None:
    if operation.then is None:
        if died == f"before the record of {found.name}":
            found.up(operation.killed)  # The engine had the answer, and no diff shows that it has no record.
        found.engine.destroy()
        if not found.serves_package:  # in the package, `gc` deletes what was begun and is not declared
            assert found.live() == []
        return
    found.up(operation.then)
    if operation.then == operation.killed:
        since = found.run()["generation"] - len(RUNGS) if operation.before else 0
        found.assert_no_rung_twice(since=since)
        found.assert_one_at_a_time()
        assert found.way()[-1] == (3, "RUNNING")
    (live,) = found.live()
    assert found.recorded() == [live["name"].partition("/locations/")[2]]
    assert live["labels"]["vertex-training-run"] == found.run()["key"]
    assert found.up(operation.then) == 0
    found.destroy()
