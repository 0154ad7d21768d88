"""The row of one job in the display: its state and what runs of it, said once for each change."""

from __future__ import annotations

import asyncio
import time

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.plugin.running.declaration import JobResourceType
from pulumi_vertex_training.program.wait_policy import WaitPolicy

ANNOUNCE_SECONDS = 3.0
"""A wait that is longer says what Ctrl-C would do; one that would cancel the job says it at once."""


class Progress:
    """What has been said of one job so far."""

    def __init__(self, resource: pulumi.Resource, policy: WaitPolicy, declared: JobResourceType) -> None:
        self._resource = resource
        self._policy = policy
        self._declared = declared
        self._said = ""
        self._trouble = ""
        self._began = time.monotonic()
        self._announced = not policy.waits

    @property
    def saw_it(self) -> bool:
        """Whether the job was there at any look."""
        return bool(self._said)

    async def show(self, endpoint: Endpoint, record: JobRecord) -> None:
        """Say what is new of it; after a trouble also how it stands, which takes the trouble off the row."""
        # The engine's log wants the program's own thread; only the question goes to another one.
        counts = await asyncio.to_thread(self._declared.progress, endpoint, record)
        line = record.state.word.lower() + counts
        if line != self._said or self._trouble:
            self._said, self._trouble = line, ""
            pulumi.log.info(line, self._resource, ephemeral=True)
        due = self._policy.cancels or time.monotonic() - self._began > ANNOUNCE_SECONDS
        if due and not self._announced and not record.state.is_terminal:
            self._announced = True
            pulumi.log.info(announcement(self._declared.noun, record.job_id, self._policy), self._resource)

    def trouble(self, error: CloudError) -> None:
        """Say that the service does not answer, once for as long as it says the same."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            pulumi.log.info(f"asking again: {error}", self._resource, ephemeral=True)


def announcement(noun: str, job_id: str, policy: WaitPolicy) -> str:
    """Said while it can still be heard: after Ctrl-C the engine may kill the program within a millisecond."""
    if policy.cancels:
        return f"waiting for {noun} {job_id}. Ctrl-C cancels it (on_interrupt)."
    return (
        f"waiting for {noun} {job_id}. Ctrl-C leaves it running: `pulumi up` joins it again, "
        f"`vertex-training cancel {job_id}` stops it."
    )
