"""Conversion of a value's path in the API to its path in the file that the user wrote.

A declaration by role, or one for legacy AI Platform, becomes worker pools before the rules see it. Findings
have to name the written path: `worker.accelerator_count`, not `worker_pool_specs[1].machine_spec...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from vertex_training.findings.problems import Problem, is_within

Origins = Mapping[str, str]
"""API path -> written path. An entry holds for everything below it that has no entry of its own."""

_POOL_PATH = re.compile(r"worker_pool_specs\[\d+\](?:\.[a-z_]+|\[\d+\])*")


def written_path(path: str, origins: Origins) -> str:
    """Return where the value at an API path was written, or the path itself if no origin is known."""
    nearest = max((known for known in origins if is_within(path, known)), key=len, default=None)
    if nearest is None:
        return path
    return (origins[nearest] + path[len(nearest) :]).lstrip(".")


def as_written(problems: Iterable[Problem], origins: Origins) -> tuple[Problem, ...]:
    """Return the findings with the paths of the file in `path`, `rests_on` and the message.

    Several pools may take a value from one place; a finding about that value is then reported once.
    """
    found = (
        replace(
            problem,
            path=written_path(problem.path, origins),
            message=_POOL_PATH.sub(lambda match: written_path(match.group(), origins), problem.message),
            rests_on=tuple(written_path(path, origins) for path in problem.rests_on),
        )
        for problem in problems
    )
    return tuple(dict.fromkeys(found))
