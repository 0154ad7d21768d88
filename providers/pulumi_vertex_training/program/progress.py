"""Progress of a job on the row of its resource, while a deployment waits for the job."""

from __future__ import annotations

import asyncio
import time

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.plugin.running.declaration import JobResourceType
from pulumi_vertex_training.program.run_options import WaitPolicy

ANNOUNCE_SECONDS = 3.0
"""Delay before the effect of Ctrl-C is announced. If it cancels the job, there is no delay."""


class Progress:
    """Progress of a job, shown once for each change on the row of its resource."""

    def __init__(self, resource: pulumi.Resource, policy: WaitPolicy, declared: JobResourceType) -> None:
        self._resource = resource
        self._policy = policy
        self._declared = declared
        self._shown = ""
        self._trouble = ""
        self._began = time.monotonic()
        self._announced = not policy.waits

    @property
    def saw_it(self) -> bool:
        """True once the job has been found."""
        return bool(self._shown)

    async def show(self, endpoint: Endpoint, record: JobRecord) -> None:
        """Show the state if it changed, or if an error is on the row."""
        # The engine's log needs the program's own thread, so only the query runs in another one.
        counts = await asyncio.to_thread(self._declared.progress, endpoint, record)
        line = record.state.word.lower() + counts
        if line != self._shown or self._trouble:
            self._shown, self._trouble = line, ""
            pulumi.log.info(line, self._resource, ephemeral=True)
        due = self._policy.cancels or time.monotonic() - self._began > ANNOUNCE_SECONDS
        if due and not self._announced and not record.state.is_terminal:
            self._announced = True
            pulumi.log.info(announcement(self._declared.noun, record.job_id, self._policy), self._resource)

    def trouble(self, error: CloudError) -> None:
        """Show an error of the service, once while it stays the same."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            pulumi.log.info(f"retrying: {error}", self._resource, ephemeral=True)


def announcement(noun: str, job_id: str, policy: WaitPolicy) -> str:
    """Return the effect of Ctrl-C. It is shown before: the engine may kill the program right after Ctrl-C."""
    if policy.cancels:
        return f"waiting for {noun} {job_id}. Ctrl-C cancels it (on_interrupt)."
    return (
        f"waiting for {noun} {job_id}. Ctrl-C leaves it running: `pulumi up` joins it again, "
        f"`vertex-training cancel {job_id}` stops it."
    )
