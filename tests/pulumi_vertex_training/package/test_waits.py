"""The wait for a job in the provider process of the package."""

from __future__ import annotations

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.package.waits.waiting import Link

NAME = "projects/7/locations/us-central1/customJobs/1"


def test_a_call_is_retried_no_longer_than_an_answer_is_awaited_at_the_deadline() -> None:
    """Look at the timeouts of a call, which blocks the wait until it has ended."""
    asked: list[Endpoint] = []

    def get(endpoint: Endpoint) -> JobRecord:
        asked.append(endpoint)
        return JobRecord(name=NAME, display_name="train", state=JobState.JOB_STATE_SUCCEEDED)

    async def report(_: JobRecord) -> None:
        """Print nothing."""

    link = Link({"endpoint": "google", "project": "p", "location": "us-central1"}, NAME)
    link.watch(get, reached=lambda _: True, timeout=600.0, on_record=report, wait=None)  # type: ignore[arg-type]
    (one,) = asked
    assert one.timeouts.retry_google == one.timeouts.least_answer < link.endpoint.timeouts.retry_google
