"""A ladder with a rung in another region, in both forms."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.client.in_process.climbs import ClimbTrial, ladder, trial
from support.client.in_process.trials import FORMS, at_every_point
from support.client.kills.subjects import Declaration
from vertex_emulator.client.control import Control

SCARCE, SLOW, THERE = "n1-standard-16", "n1-standard-32", "n1-standard-8"
OTHER = "europe-west4"
SPOT = {"strategy": "SPOT", "machine_spec": {"machine_type": SCARCE}}
ELSEWHERE = {"machine_spec": {"machine_type": SLOW}, "wait_for": "0.2s", "location": OTHER}
FOUND = {"machine_spec": {"machine_type": THERE}, "location": OTHER}
LADDER = ladder(SPOT, ELSEWHERE, FOUND)
HERE = ladder({"machine_spec": {"machine_type": THERE}})


@pytest.fixture(autouse=True)
def scarce(endpoint: Endpoint) -> Iterator[None]:
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    control.set_capacity(SCARCE, 0, wait_seconds=0.05)
    control.set_capacity(SLOW, 0, wait_seconds=600)
    yield
    control.clear_capacities()


@pytest.fixture(params=FORMS)
def job(request: pytest.FixtureRequest, data_dir: Path) -> Iterator[ClimbTrial]:
    made = trial(data_dir, serves_package=request.param, regions=("us-central1", OTHER))
    yield made
    made.destroy()


def place(record: dict[str, Any]) -> str:
    return str(record["name"].split("/")[3])


def test_a_job_moves_to_another_region(job: ClimbTrial) -> None:
    job.up(LADDER)
    assert job.way() == [(1, "FAILED"), (2, "CANCELLED"), (3, "RUNNING")]
    assert [place(one) for one in job.attempts()] == ["us-central1", OTHER, OTHER]
    job.assert_one_at_a_time()
    assert job.up(LADDER) == 0
    assert job.engine.refresh()
    assert job.up(LADDER) == 0
    job.up(dataclasses.replace(HERE, spec="spec-2"))
    (live,) = job.live()
    assert place(live) == "us-central1"


def test_a_region_that_is_no_longer_named_is_still_cleared(job: ClimbTrial) -> None:
    job.up(LADDER)
    assert job.up(HERE) == 1
    assert [place(one) for one in job.live()] == [OTHER]
    assert job.engine.refresh()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dynamic", "package"])
@pytest.mark.parametrize(
    ("then", "ends"),
    [
        pytest.param(LADDER, True, id="the same"),
        pytest.param(dataclasses.replace(LADDER, spec="spec-2"), False, id="another spec"),
        pytest.param(ladder(SPOT, FOUND), False, id="another ladder"),
        pytest.param(HERE, False, id="without the region"),
    ],
)
def test_killed_at_every_point(data_dir: Path, form: str, then: Declaration, ends: bool) -> None:
    def finish(found: ClimbTrial, _: str) -> None:
        found.up(then)
        (live,) = found.live()
        assert found.recorded() == [live["name"].partition("/locations/")[2]]
        if ends:
            assert found.way()[-1] == (3, "RUNNING")
            found.assert_no_rung_twice()
            found.assert_one_at_a_time()
        assert found.up(then) == 0
        found.destroy()

    points = at_every_point(
        lambda: trial(data_dir, serves_package=form == "package", regions=("us-central1", OTHER)),
        lambda found: found.up(LADDER),
        finish,
    )
    assert points >= len(("a submission", "a cancellation", "a record"))
