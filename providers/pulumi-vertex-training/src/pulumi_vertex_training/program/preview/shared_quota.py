"""Warn in a preview of new jobs on Google Cloud that fit a quota each, and do not fit together.

The program knows all of its jobs; the engine asks a provider about each one alone. The jobs of a project and
location are judged together once all of them were looked up. That costs no further call.
"""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pulumi

from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.preview.lookups import program_lookups
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.program.waiting.waits import program_waits

if TYPE_CHECKING:
    from pulumi_vertex_training.preflight.subject import Subject


@dataclass(eq=False)
class _NewJobs:
    """The new jobs of a program by target, and the task that reports about their quota, if any share one."""

    by_target: dict[Target, list[Subject]] = field(default_factory=dict)
    report: asyncio.Future[None] | None = None


_NEW_JOBS: MutableMapping[asyncio.AbstractEventLoop, _NewJobs] = weakref.WeakKeyDictionary()
"""The new jobs of each program: with the Automation API a process may run several at once."""


def add(subject: Subject, target: Target) -> None:
    """Add a new job that was looked up. The second one of a target starts the report."""
    jobs = _NEW_JOBS.setdefault(asyncio.get_running_loop(), _NewJobs())
    of_target = jobs.by_target.setdefault(target, [])
    of_target.append(subject)
    if len(of_target) > 1 and jobs.report is None:
        jobs.report = asyncio.ensure_future(_report(jobs))
        _: pulumi.Output[None] = pulumi.Output.from_input(jobs.report)  # the program ends after it


async def reported() -> None:
    """Return when the jobs were judged together."""
    jobs = _NEW_JOBS.get(asyncio.get_running_loop())
    if jobs is not None and jobs.report is not None:
        await asyncio.shield(jobs.report)


async def _report(jobs: _NewJobs) -> None:
    from pulumi_vertex_training.core.connection import endpoint_for_lookups
    from pulumi_vertex_training.preflight import before_submission

    await program_waits().rest()  # Everything is registered and looked up.
    lookups, settings = program_lookups(), stack_settings()
    for target, subjects in jobs.by_target.items():
        found = await asyncio.to_thread(
            before_submission.quota_problems,
            subjects,
            project=target.project,
            location=target.location,
            connect=functools.partial(endpoint_for_lookups, target, settings),
            lookups=lookups,
            seconds=settings.preflight_seconds,
        )
        for problem in found:
            messages.warn(str(problem), None)
