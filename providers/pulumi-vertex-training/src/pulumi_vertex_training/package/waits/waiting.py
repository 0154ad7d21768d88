"""Wait in the call that creates or updates a resource: a program in YAML cannot wait.

A deployment that waits for what has failed fails: the one that created it and every later one. So its
dependents do not start. The failure is reported with the resource's id and outputs, which the state then
keeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.engine import CANCELLED
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.runs.monitoring.watching import CLOUD_PACE, LOCAL_PACE, HasState, Watched, watch

Record = TypeVar("Record", bound=HasState)


class Interrupted(Exception):  # noqa: N818  no error
    """The engine has reported Ctrl-C."""


@dataclass(frozen=True, kw_only=True)
class Waited:
    """The end of a wait: the outputs of the resource, and why the deployment fails, or ""."""

    outputs: dict[str, Any]
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A wait for the resource `urn` with the full name `id`, whose outputs are `outputs`."""

    urn: str
    id: str
    outputs: Mapping[str, Any]

    changed: ClassVar[tuple[str, ...]]
    """The outputs that a wait changes."""

    def is_due(self) -> bool:
        """Return whether a deployment has to wait for what is recorded, or to record or report its end.

        A service that does not answer says nothing against a resource that had reached what is waited for.
        """
        raise NotImplementedError

    def recorded(self) -> Waited:
        """Return the outputs without a wait, and why a deployment that waits for the resource would fail."""
        raise NotImplementedError

    def refreshed(self) -> Waited:
        """Return the outputs of a resource that was just read, and the failure as `recorded` does."""
        return self.recorded()

    def run(self) -> Waited:
        """Wait as the options say."""
        raise NotImplementedError

    def print_line(self, message: str, *, passing: bool = False) -> None:
        """Print a line on the row of the resource."""
        OPERATION.print_on(self.urn, message, passing=passing)

    def warn(self, message: str) -> None:
        """Print a warning on the row of the resource."""
        self.print_line(f"warning: {message}")

    def again(self, *, otherwise: str) -> str:
        """Return how a deployment stops failing."""
        return f"Change its declaration, run `pulumi up --replace '{self.urn}'`, or {otherwise}."


class Link:
    """The connection of a wait to the service, which is made again if it breaks."""

    def __init__(self, outputs: Mapping[str, Any], name: str = "") -> None:
        self._outputs, self._name = outputs, name
        self.endpoint = endpoint_of(outputs).of(name)

    def watch(
        self,
        get: Callable[[Endpoint], Record],
        *,
        reached: Callable[[Record], bool],
        timeout: float,
        on_record: Callable[[Record], Awaitable[None]],
        wait: Wait,
        finish: Callable[[Record], Awaitable[None]] | None = None,
    ) -> Watched[Record]:
        """Poll a record until it is `reached`. Raises Interrupted, and the errors of `get`.

        `finish` is called with the last record; with it, other tasks run during the pauses.
        """

        async def ask() -> Record:
            try:
                return get(self.endpoint.polled)
            except Unavailable:
                self.endpoint = endpoint_of(self._outputs).of(self._name)
                raise

        async def watched() -> Watched[Record]:
            # Each wait has a thread and an event loop of its own, so its calls may block.
            found = await watch(
                ask,
                reached=reached,
                pace=LOCAL_PACE if self.endpoint.is_emulator else CLOUD_PACE,
                timeout=timeout,
                on_record=on_record,
                on_error=lambda error: wait.print_line(f"retrying: {error}", passing=True),
                least_answer=self.endpoint.timeouts.least_answer,
                sleep=_sleep if finish is None else _sleep_in_thread,
            )
            if finish is not None:
                await finish(found.record)
            return found

        return asyncio.run(watched())


async def _sleep(seconds: float) -> None:
    if CANCELLED.wait(seconds):
        raise Interrupted


async def _sleep_in_thread(seconds: float) -> None:
    if await asyncio.to_thread(CANCELLED.wait, seconds):
        raise Interrupted
