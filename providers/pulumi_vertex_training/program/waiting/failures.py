"""Failures of waits: each on the row of its own resource, and one summary that ends the program."""

from __future__ import annotations

import shlex
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import pulumi

from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.waiting.waits import Wait, WaitResult, Waits, program_waits
from vertex_training.findings.visible_text import visible_lines

Result = TypeVar("Result")


class WaitFailed(Exception):  # noqa: N818
    """A wait has failed. The message is for people; `state` is a word such as FAILED."""

    def __init__(self, message: str, *, state: str, command: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.command = command


@dataclass(frozen=True, kw_only=True)
class Again:
    """The options of a resource that decide when a failed job runs again."""

    rerun: str = "on_change"
    limit: int = 0

    def command(self, urn: str, state: str, *, stays: bool) -> str:
        """Return how a job that ended in a state runs again. `stays`: `pulumi up` has just left it alone."""
        if self.rerun == "never":
            return "It runs only once (rerun is never). To run it again, set rerun to on_change first."
        reruns = self.rerun == "on_failure" and self.limit > 0 and state in ("FAILED", "EXPIRED")
        if not stays and (reruns or self.rerun == "always"):
            return "Run it again: pulumi up"
        return f"Run it again as it is: pulumi up --replace {shlex.quote(urn)}"


async def held(work: Coroutine[Any, Any, Result], resource: pulumi.Resource | None, wait: Wait) -> Result:
    """Return the result of a wait.

    If it fails, report the failure on the row of its resource, let everything else come to an end, and raise
    `pulumi.RunError` with a summary of all waits. What depends on the result is never created.
    """
    waits = program_waits()
    try:
        with waits.open(wait):
            return await work
    except WaitFailed as failure:
        wait.end(WaitResult.FAILED, failure.state, failure.command)
        messages.error(str(failure), resource)
    await waits.rest()
    raise pulumi.RunError(visible_lines(summary(waits)))


def summary(waits: Waits) -> str:
    """Return what failed, what else ended, what still runs and what was not started, with commands."""
    if len(waits.all) == 1:
        return f"{waits.all[0].name} failed. The error is on its own row."
    width = max(len(wait.name) for wait in waits.all)
    counts, rows = [], []
    for result in (*WaitResult, None):
        group = [wait for wait in waits.all if wait.result is result]
        if group:
            counts.append(f"{len(group)} {result.value if result else 'not started'}")
        rows += [f"{one.name:<{width}}  {one.state or 'not started':<11}  {one.command}" for one in group]
    lines = "".join(f"\n    {row.rstrip()}" for row in rows)
    return f"{', '.join(counts)}{lines}\nThe error of each failed resource is on its own row."
