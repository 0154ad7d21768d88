"""The scope of a preflight: a project and location, the jobs there, and lookups that checks share."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.cloud.project import access
from pulumi_vertex_training.cloud.project.access import Project
from pulumi_vertex_training.cloud.project.caller import Caller, caller
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Facts, Question, Trouble
from pulumi_vertex_training.preflight.subject import Part, Subject

CALLER: Question[Caller] = Question(key="caller", look=caller)
PROJECT: Question[Project] = Question(key="project", look=access.project)


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The jobs of one project and location. `is_emulator` is true for the emulator's.

    `is_preview` is true in a preview, whose account may be one that only reads and never deploys. `data_dir`
    is the emulator's data folder, None for the default one.
    """

    project: str
    location: str
    is_emulator: bool
    subjects: tuple[Subject, ...]
    is_preview: bool = False
    data_dir: Path | None = None

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """The jobs that run, of all subjects."""
        return tuple(part for subject in self.subjects for part in subject.parts)

    def makes(self, name: str) -> bool:
        """Return whether the deployment itself makes something, such as an enabled service."""
        return any(subject.makes(name) for subject in self.subjects)


def member_of_caller(facts: Facts) -> str:
    """Return the account of the calls as IAM names it, for a shell."""
    answer = facts.of(CALLER)
    return (Caller() if isinstance(answer, Trouble) else answer).member


def not_known(thing: Thing, trouble: Trouble, *, remedy: str = "") -> Finding:
    """Return the finding for a lookup without an answer. `remedy` lets the caller read it."""
    if trouble.cause == "denied":
        return thing.finding("unknown", f"the account may not read it: {trouble.message}", remedy=remedy)
    return thing.finding("unknown", trouble.message, remedy=trouble.remedy)


def by_name(parts: Iterator[tuple[str, Part, str]]) -> dict[str, tuple[Part, str]]:
    """Return each name once, with the first part and path that has it."""
    named: dict[str, tuple[Part, str]] = {}
    for name, part, path in parts:
        named.setdefault(name, (part, path))
    return named
