"""What the queue of jobs asks of persistent resources, for the jobs that name one."""

from __future__ import annotations

from typing import Any, Protocol

from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc.methods import RpcError


class SharedRoom(Protocol):
    """What is left of persistent resources at one moment."""

    def fits(self, place: Place, job: Any) -> bool:
        """Whether there is room for a job on the resource that it names, which it then has."""


class Sharing(Protocol):
    """The persistent resources."""

    def check(self, place: Place, job: Any) -> None:
        """Raises `RpcError` for a job that names a resource on which it can never run."""

    def room(self) -> SharedRoom:
        """What is left at present."""


class NoResources:
    """Where there are none."""

    def check(self, place: Place, job: Any) -> None:
        wanted = f"{place}/persistentResources/{job.job_spec.persistent_resource_id}"
        raise RpcError("NOT_FOUND", f"The PersistentResource does not exist: {wanted}.")

    def room(self) -> SharedRoom:
        return self

    def fits(self, place: Place, job: Any) -> bool:  # noqa: ARG002
        return False
