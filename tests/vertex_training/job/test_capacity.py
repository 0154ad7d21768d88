"""Answers of the service that mean that there was no capacity, or that machines were lost."""

from __future__ import annotations

from typing import Any

from support.tables import every_row, not_empty
from vertex_training.job import capacity
from vertex_training.job.capacity import WORDINGS, Answer, Meaning, Wording

STOCKOUT = "Resources are insufficient in region: europe-west4."
"""The service's words without their second sentence, as some users quote them."""
QUOTA = "Quota exceeded for quota metric 'Job submission requests' and limit 'requests per minute per region'"
"""The words for a request rate."""


def job(
    words: str = STOCKOUT, *, state: str = "FAILED", code: int = 8, started: bool = False, **scheduling: str
) -> dict[str, Any]:
    """Return a job that has ended, an hour after its creation."""
    wire: dict[str, Any] = {
        "state": f"JOB_STATE_{state}",
        "createTime": "2026-11-29T10:00:00Z",
        "endTime": "2026-11-29T11:00:00.000000Z",
        "jobSpec": {"scheduling": scheduling} if scheduling else {},
        "error": {"code": code, "message": words},
    }
    return {**wire, "startTime": "2026-11-29T10:30:00Z"} if started else wire


@every_row("wording", WORDINGS, ids=lambda wording: wording.example)
def test_each_wording_is_found_in_its_example_and_has_a_source(wording: Wording) -> None:
    assert wording.pattern.search(wording.example)
    assert wording.source
    others = {each.meaning for each in WORDINGS if each.pattern.search(wording.example)}
    assert others == {wording.meaning}, "the example has two meanings"


@every_row("wording", not_empty(one for one in WORDINGS if one.meaning is Meaning.MACHINES))
def test_each_wording_about_machines_decides(wording: Wording) -> None:
    assert capacity.of_job(job(wording.example)) is Answer.NO_CAPACITY
    assert capacity.of_job(job(wording.example, started=True)) is Answer.INTERRUPTED


@every_row(
    "status, words, answer",
    [
        (429, "The following quota metrics exceed quota limits: aiplatform.googleapis.com/"
              "custom_model_training_preemptible_nvidia_l4_gpus, aiplatform.googleapis.com/"
              "custom_model_training_g2_cpus", Answer.NO_CAPACITY),
        (429, "The following quotas are exceeded: CustomModelTrainingT4GPUsPerProjectPerRegion",
         Answer.NO_CAPACITY),
        (429, QUOTA, Answer.REQUEST_RATE),
        (429, "The following quota metrics exceed quota limits: aiplatform.googleapis.com/online_requests",
         Answer.REQUEST_RATE),
        (429, "Resource exhausted. Please try again later.", Answer.REQUEST_RATE),
        (429, STOCKOUT, Answer.REQUEST_RATE),
        (400, "The following quota metrics exceed quota limits: custom_model_training_cpus", Answer.FAILED),
        (403, STOCKOUT, Answer.FAILED),
    ],
)  # fmt: skip
def test_a_refusal(status: int, words: str, answer: Answer) -> None:
    assert capacity.of_refusal(status, words) is answer


FLEX = {"strategy": "FLEX_START"}


@every_row(
    "wire, answer",
    [
        (job(), Answer.NO_CAPACITY),
        (job(code=0), Answer.NO_CAPACITY),
        (job(started=True), Answer.INTERRUPTED),
        (job("Internal error occurred for the current attempt.", code=13, started=True), Answer.INTERRUPTED),
        (job("Something new.", code=13, started=True), Answer.INTERRUPTED),
        (job("Something new.", code=13), Answer.UNKNOWN),
        (job("Internal error occurred for the current attempt.", code=13), Answer.UNKNOWN),
        (job("The replica workerpool0-0 exited with a non-zero status of 1.", code=3, started=True),
         Answer.FAILED),
        (job("", started=True, code=0), Answer.FAILED),
        (job("", code=0), Answer.UNKNOWN),
        (job("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2 GB", started=True), Answer.FAILED),
        (job("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2 GB"), Answer.UNKNOWN),
        (job("Failed to read the container uri [gcr.io/p/i:1]."), Answer.UNKNOWN),
        (job(QUOTA), Answer.UNKNOWN),
        (job(state="SUCCEEDED"), None),
        (job(state="RUNNING", started=True), None),
        (job(state="CANCELLED"), None),
        (job(state="CANCELLED", started=True), None),
        (job("Other words.", **FLEX, maxWaitDuration="3600s"), Answer.NO_CAPACITY),
        (job("Other words.", **FLEX, maxWaitDuration="3600.5s"), Answer.UNKNOWN),
        (job("Other words.", **FLEX), Answer.UNKNOWN),
        (job("Other words.", **FLEX, maxWaitDuration="0s"), Answer.UNKNOWN),
        (job("Other words.", **FLEX, maxWaitDuration="soon"), Answer.UNKNOWN),
        (job("", state="CANCELLED", **FLEX, maxWaitDuration="60s"), Answer.NO_CAPACITY),
        (job("", state="CANCELLED", **FLEX, maxWaitDuration="7200s"), None),
        (job("", state="EXPIRED", **FLEX, maxWaitDuration="60s"), Answer.NO_CAPACITY),
        (job("Other words.", strategy="SPOT", maxWaitDuration="60s"), Answer.UNKNOWN),
        (job("Other words.", started=True, **FLEX, maxWaitDuration="60s"), Answer.FAILED),
        ({"state": "JOB_STATE_FAILED", "jobSpec": {"scheduling": FLEX}}, Answer.UNKNOWN),
    ],
)  # fmt: skip
def test_the_end_of_a_job(wire: dict[str, Any], answer: Answer | None) -> None:
    assert capacity.of_job(wire) is answer


def test_flex_start_waits_for_a_day_by_default() -> None:
    wire = job("Other words.", **FLEX)
    assert capacity.of_job({**wire, "endTime": "2026-11-30T10:00:00Z"}) is Answer.NO_CAPACITY
    assert capacity.of_job({**wire, "endTime": "2026-11-30T09:59:59Z"}) is Answer.UNKNOWN
