"""Wait until a resource that takes time to start is ready, such as a persistent resource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.core import waiting
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.core.waiting import DEFAULT_TIMEOUT, Readiness
from pulumi_vertex_training.package.waits.waiting import Interrupted, Link, Wait, Waited
from vertex_emulator import LauncherError


@dataclass(frozen=True, kw_only=True)
class ReadyOptions:
    """How a deployment waits for a resource. It is no part of the resource."""

    wait: bool = True
    """Wait in the deployment until the resource runs. A resource that has failed fails each deployment that
    waits for it.
    """
    wait_timeout: float = DEFAULT_TIMEOUT
    """Longest wait in seconds. After it the deployment continues with a warning."""


@dataclass(frozen=True, kw_only=True)
class ReadyWait(Wait):
    """A wait for a resource that starts."""

    declared: Readiness
    options: ReadyOptions

    changed = ("state",)

    @property
    def title(self) -> str:
        return f"{self.declared.noun} {self.id.rpartition('/')[2]}"

    def is_due(self) -> bool:
        record = self._live()
        return self.options.wait and record is not None and not self.declared.is_ready(record)

    def recorded(self) -> Waited:
        record = self._live()
        if record is None:
            return Waited(outputs=dict(self.outputs))
        failure = self._failure(record) if self.options.wait else ""
        return Waited(outputs={**self.outputs, "state": record.state.word}, failure=failure)

    def run(self) -> Waited:
        if not self.options.wait:
            return self.recorded()
        link, shown = Link(self.outputs), ""

        async def report(record: object) -> None:
            nonlocal shown
            line = self.declared.line(record)
            if line != shown and not (self.declared.is_ready(record) and not shown):
                shown = line
                self.print_line(line, passing=True)

        try:
            watched = link.watch(
                lambda endpoint: self.declared.get(endpoint, self.id),
                reached=self.declared.is_ready,
                timeout=self.options.wait_timeout,
                on_record=report,
                wait=self,
            )
        except Interrupted:
            self.print_line(waiting.interrupted(self.title))
            return Waited(outputs=dict(self.outputs))
        except NotFound:
            return Waited(outputs=dict(self.outputs), failure=waiting.gone(self.title))
        except (CloudError, LauncherError) as error:
            return Waited(outputs=dict(self.outputs), failure=f"{self.title}: {error}")
        outputs = {**self.outputs, "state": watched.record.state.word}
        if failure := self._failure(watched.record):
            return Waited(outputs=outputs, failure=failure)
        if watched.timed_out:
            words = waiting.timed_out(self.title, watched.record.state.word, self.options.wait_timeout)
            self.warn(words)
        return Waited(outputs=outputs)

    def _live(self) -> Any | None:
        """Return the record, None without an answer."""
        return QUERIES.ask_endpoint(
            target_of(self.outputs),
            lambda endpoint: self.declared.get(endpoint, self.id),
            unknown=f"the state of {self.title}",
        )

    def _failure(self, record: object) -> str:
        failure = self.declared.failure(record)
        again = self.again(otherwise="set wait: false")
        return f"{self.title} {failure}.\nDeployments fail until it runs. {again}" if failure else ""
