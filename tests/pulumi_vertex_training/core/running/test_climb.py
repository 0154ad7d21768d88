"""A job climbs its capacity ladder in `create`, in both forms of the provider."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.running import provider
from support.client.in_process.climbs import ClimbTrial, ladder, trial
from support.client.in_process.small_engine import kills
from support.client.in_process.trials import FORMS
from support.waiting import eventually
from vertex_emulator.client.control import Control

SCARCE, SLOW, THERE = "n1-standard-16", "n1-standard-32", "n1-standard-8"


def machine(name: str) -> dict[str, str]:
    return {"machine_type": name}


SPOT = {"strategy": "SPOT", "machine_spec": machine(SCARCE)}
WAITS = {"machine_spec": machine(SLOW), "wait_for": "0.3s"}
FOUND = {"machine_spec": machine(THERE)}


@pytest.fixture
def control(endpoint: Endpoint) -> Iterator[Control]:
    """Have no machines of two types: the service finds that out at once for one, and never for the other."""
    found = Control(url=endpoint.url or "", token=endpoint.token or "")
    found.set_capacity(SCARCE, 0, wait_seconds=0.1)
    found.set_capacity(SLOW, 0, wait_seconds=600)
    yield found
    found.clear_capacities()


@pytest.fixture(params=FORMS)
def job(request: pytest.FixtureRequest, data_dir: Path, control: Control) -> Iterator[ClimbTrial]:
    made = trial(data_dir, serves_package=request.param)
    yield made
    made.destroy()


def test_a_job_takes_the_first_rung_that_has_machines(job: ClimbTrial) -> None:
    job.up(ladder(SPOT, WAITS, FOUND))
    assert job.way() == [(1, "FAILED"), (2, "CANCELLED"), (3, "RUNNING")]
    (live,) = job.live()
    assert job.recorded() == [live["name"].partition("/locations/")[2]]
    assert live["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]["machineType"] == THERE
    assert job.run()["generation"] == 3
    assert job.run()["rung"] == FOUND
    assert job.up(ladder(SPOT, WAITS, FOUND)) == 0


NOWHERE = ladder(SPOT, WAITS)
QUOTA = (
    "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_n1_cpus"
)
RATE = "Quota exceeded for quota metric 'Requests'"


def fails(job: ClimbTrial) -> None:
    """Deploy, where nothing is found."""
    job.up(NOWHERE)
    assert not job.live()


def test_a_pass_ends_and_later_deployments_climb_again_up_to_a_limit(job: ClimbTrial) -> None:
    fails(job)
    first = [(1, "FAILED"), (2, "CANCELLED")]
    assert job.way() == first
    words = job.run()["no_capacity"]
    assert "rung 1 of 2 (SPOT, n1-standard-16): Resources are insufficient" in words
    assert "rung 2 of 2" in words
    assert "it waited for" in words
    fails(job)
    fails(job)
    assert job.run()["climbs"] == 2
    assert job.run()["why"] == "no-capacity-2-of-2"
    assert job.run()["generation"] == 6
    assert job.up(NOWHERE) == 0
    job.control.clear_capacities()
    assert job.up(NOWHERE) == 0
    assert job.up(ladder(SPOT, WAITS, capacity_limit=3)) == 1
    assert job.way()[-1] == (1, "RUNNING")


def test_a_ladder_that_changes_is_recorded_in_place(job: ClimbTrial) -> None:
    job.up(ladder(SPOT, FOUND))
    (live,) = job.live()
    assert job.up(ladder(FOUND, SPOT)) == 1
    assert job.up(ladder(FOUND)) == 1
    assert job.engine.refresh()
    assert job.up(ladder(FOUND)) == 0
    assert [one["name"] for one in job.live()] == [live["name"]]


def test_what_the_rung_changed_is_no_drift(job: ClimbTrial) -> None:
    job.up(ladder(SPOT, FOUND))
    assert job.engine.refresh()
    assert job.up(ladder(SPOT, FOUND)) == 0


def test_a_quota_refusal_leaves_a_rung_and_a_rate_limit_does_not(job: ClimbTrial) -> None:
    job.control.add_fault({"method": "CreateCustomJob", "status": 429, "message": QUOTA})
    job.control.add_fault({"method": "CreateCustomJob", "nth": 2, "status": 429, "message": RATE})
    job.up(ladder(SPOT, FOUND))
    assert job.way() == [(2, "RUNNING")]


def test_a_job_that_is_refused_on_each_rung_fails_the_deployment(job: ClimbTrial) -> None:
    number = job.control.add_fault(
        {"method": "CreateCustomJob", "times": 2, "status": 429, "message": QUOTA}
    )["number"]
    with pytest.raises(Failure, match=r"(?s)no rung .* accepted the job:.*rung 1 of 2.*rung 2 of 2"):
        job.up(ladder(SPOT, FOUND))
    assert job.attempts() == []
    job.control.remove_fault(number)
    job.up(ladder(SPOT, FOUND))
    assert job.way() == [(1, "FAILED"), (2, "RUNNING")]


def test_another_spec_is_another_pass(job: ClimbTrial) -> None:
    fails(job)
    job.up(dataclasses.replace(ladder(SPOT, FOUND), spec="spec-2"))
    assert job.way()[-2:] == [(1, "FAILED"), (2, "RUNNING")]
    assert "climbs" not in job.run()


def test_without_a_wait_one_rung_is_submitted_and_the_next_deployment_continues(job: ClimbTrial) -> None:
    job.engine.climb_seconds = 0.0
    job.up(ladder(SPOT, WAITS, FOUND))
    eventually(lambda: job.way() == [(1, "FAILED")], what=job.way)
    job.up(ladder(SPOT, WAITS, FOUND))
    assert job.way() == [(1, "FAILED"), (2, "PENDING")]
    assert job.up(ladder(SPOT, WAITS, FOUND)) == 0


def test_never_climbs_again(job: ClimbTrial) -> None:
    never = ladder(SPOT, WAITS, rerun="never")
    job.up(never)
    assert job.up(never) == 0
    assert job.way() == [(1, "FAILED"), (2, "CANCELLED")]


THREE = ladder(SPOT, WAITS, FOUND)


@pytest.mark.slow
@pytest.mark.parametrize("drop", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("call", ["CreateCustomJob", "CancelCustomJob", "GetCustomJob"])
def test_a_lost_answer_makes_no_second_job(job: ClimbTrial, call: str, nth: int, drop: str) -> None:
    number = job.control.add_fault({"method": call, "nth": nth, "drop": drop})["number"]
    with contextlib.suppress(Failure):  # a creation that was not carried out fails the deployment
        job.up(THREE)
    job.control.remove_fault(number)
    job.up(THREE)
    assert job.way() == [(1, "FAILED"), (2, "CANCELLED"), (3, "RUNNING")]
    job.assert_one_at_a_time()


@pytest.mark.slow
@pytest.mark.parametrize("rung", [1, 2, 3])
def test_a_list_that_lags_behind_hides_no_attempt(
    job: ClimbTrial, rung: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill the deployment after a submission, and list the jobs as they were just before it."""
    submitted = []

    def is_reached(text: str) -> bool:
        if re.match(r"after POST .*/customJobs(\?|$)", text):
            submitted.append(text)
        return len(submitted) == rung

    assert kills(job.engine, lambda: job.up(THREE), is_reached)
    monkeypatch.setattr(provider, "settle_seconds", lambda _: 2.0)
    fault = {"method": "ListCustomJobs", "times": "always", "stale": {"seconds": 1.5}}
    number = job.control.add_fault(fault)["number"]
    job.up(THREE)
    job.control.remove_fault(number)
    assert job.way()[-1] == (3, "RUNNING")
    job.assert_one_at_a_time()
    job.assert_no_rung_twice()
