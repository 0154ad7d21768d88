"""A wait for the job of a resource: what is waited for, and whether a failure matters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.running.declaration import JobResourceType, declared_of
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.program.arguments.run_options import WaitPolicy
from pulumi_vertex_training.program.links import job_command
from pulumi_vertex_training.program.waiting.waits import Again, Wait
from vertex_training.fields.resource_names import resource_id


@dataclass(frozen=True, kw_only=True)
class JobWait:
    """A wait for the job `name` of a resource.

    `connect` returns the endpoint. It is called again if the endpoint does not respond, and starts a killed
    emulator. `wait` is the entry in the waits of the program. `engine` is the engine's address, None without
    one. `asked_by` names the deployment that submitted the job. `held_key` is the key of the resource,
    by which the job was held while it was created. `again` is when the job runs again. `secret_outputs` are
    the outputs that the resource's options make secret. `is_used` returns whether the program uses the
    result.
    """

    resource: pulumi.Resource
    connect: Callable[[], Endpoint]
    name: str
    policy: WaitPolicy
    wait: Wait
    asked_by: str | None
    engine: str | None = field(default_factory=engine_address)
    base_output_directory: str | None = None
    held_key: str | None = None
    again: Again = field(default_factory=Again)
    secret_outputs: frozenset[str] = frozenset()
    is_used: Callable[[], bool] = lambda: False

    @functools.cached_property
    def declared(self) -> JobResourceType:
        return declared_of(self.name)

    @property
    def ours(self) -> bool:
        """True if this deployment submitted the job."""
        return self.asked_by is not None and self.asked_by == self.engine

    @property
    def job(self) -> str:
        """The job in words, such as `custom job 7`."""
        return f"{self.declared.noun} {resource_id(self.name)}"

    @property
    def title(self) -> str:
        """The job in messages, after the name of its resource."""
        return f"{self.wait.name}: {self.job}"

    @property
    def why_needed(self) -> str:
        """Why a job that failed before fails the deployment; "" if it does not.

        What uses the result must not start, and must not be deleted as if it were declared no more.
        """
        if self.policy.until == "done":
            why = 'With wait="done" each deployment fails until it has succeeded'
        elif self.policy.waits and self.is_used():
            why = "The program uses its completion, so each deployment fails until it has succeeded"
        else:
            return ""
        return f'It ended before this deployment began. {why}; with wait="none" none does.'

    @property
    def logs(self) -> str:
        """Command that prints the job's log."""
        return job_command("logs", self.name)
