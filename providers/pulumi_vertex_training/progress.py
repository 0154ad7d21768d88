"""The row of one job in the display: its state and its replicas, said once for each change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pulumi

from pulumi_vertex_training.wait_policy import WaitPolicy
from vertex_training.cloud import emulator_view
from vertex_training.cloud.custom_jobs import JobRecord
from vertex_training.cloud.emulator_view import ReplicaState
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import CloudError

ANNOUNCE_SECONDS = 3.0
"""A wait that is longer says what Ctrl-C would do; one that would cancel the job says it at once."""


class Progress:
    """What has been said of one job so far."""

    def __init__(self, resource: pulumi.Resource, policy: WaitPolicy) -> None:
        self._resource = resource
        self._policy = policy
        self._said = ""
        self._trouble = ""
        self._began = time.monotonic()
        self._announced = not policy.waits

    @property
    def saw_it(self) -> bool:
        """Whether the job was there at any look."""
        return bool(self._said)

    async def show(self, endpoint: Endpoint, record: JobRecord) -> None:
        """Say what is new of it."""
        # The engine's log wants the program's own thread; only the question goes to another one.
        replicas = await asyncio.to_thread(_replicas, endpoint, record)
        line, self._trouble = record.state.word.lower() + counts(replicas), ""
        if line != self._said:
            self._said = line
            pulumi.log.info(line, self._resource, ephemeral=True)
        due = self._policy.cancels or time.monotonic() - self._began > ANNOUNCE_SECONDS
        if due and not self._announced and not record.state.is_terminal:
            self._announced = True
            pulumi.log.info(announcement(record.job_id, self._policy), self._resource)

    def trouble(self, error: CloudError) -> None:
        """Say that the service does not answer, once for as long as it says the same."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            pulumi.log.info(f"asking again: {error}", self._resource, ephemeral=True)


def announcement(job_id: str, policy: WaitPolicy) -> str:
    """Said while it can still be heard: after Ctrl-C the engine may kill the program within a millisecond."""
    if policy.cancels:
        return f"waiting for custom job {job_id}. Ctrl-C cancels it (on_interrupt)."
    return (
        f"waiting for custom job {job_id}. Ctrl-C leaves it running: `pulumi up` joins it again, "
        f"`vertex-training cancel {job_id}` stops it."
    )


def counts(replicas: Sequence[ReplicaState]) -> str:
    """` 3/4: chief 1/1, worker 1/2, evaluator 1/1`, running of all, the roles in the order of the pools."""
    if not replicas:
        return ""
    roles: dict[str, list[bool]] = {}
    for replica in replicas:
        roles.setdefault(replica.role, []).append(replica.state == "running")
    running = sum(map(sum, roles.values()))
    parts = [f"{role} {sum(up)}/{len(up)}" for role, up in roles.items()]
    return f" {running}/{len(replicas)}: {', '.join(parts)}"


def _replicas(endpoint: Endpoint, record: JobRecord) -> Sequence[ReplicaState]:
    """The replicas of a job that has not ended; none where only Google knows them."""
    if record.state.is_terminal:
        return ()
    try:
        return emulator_view.replicas(endpoint, record.job_id) or ()
    except CloudError:
        return ()
