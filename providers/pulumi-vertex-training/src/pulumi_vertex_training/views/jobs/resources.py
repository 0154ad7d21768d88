"""The resources and jobs that a name stands for: one rule for all commands.

A name is first a resource of the stack that the user names, or of the stack that is selected in the working
directory, and then a display name in that stack. Without such a job it is the display name of a job that no
stack made. A job of any other stack has to be named with that stack. Where no stack is selected, a name has
to be unique. An id or a full name is always found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import groupby

from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RUN_LABEL, identity_of, is_of_schedule
from pulumi_vertex_training.runs.monitoring.progress import duration
from pulumi_vertex_training.views.jobs.stack_filter import StackFilter
from vertex_training.command_line.errors import InputError
from vertex_training.fields import timestamps
from vertex_training.fields.labels import owner_of, ownership_label_value
from vertex_training.findings.words import visible

_MOST_ROWS = 12


@dataclass(frozen=True, order=True, kw_only=True)
class Resource:
    """A resource as the labels of its jobs name it; `kind` is the noun of its kind of job.

    With `is_schedule` it is a schedule, which submits jobs of that kind. Jobs that no stack made have "" as
    project and stack, and their display name as name.
    """

    project: str
    stack: str
    name: str
    kind: str
    is_schedule: bool = False

    @property
    def flag(self) -> str:
        """The kind as the value of `--kind`."""
        return self.kind.replace(" ", "-")

    @property
    def stack_name(self) -> str:
        """The stack as PROJECT/STACK, "" without one."""
        return f"{self.project}/{self.stack}" if self.stack else ""

    def __str__(self) -> str:
        where = f" of stack {self.stack_name}" if self.stack else ""
        noun = "schedule" if self.is_schedule else self.kind
        return f"{noun} {self.name}{where}"


@dataclass(frozen=True, kw_only=True)
class History:
    """A resource, and the jobs of its runs, newest first; or the jobs without a stack that have one name."""

    resource: Resource
    records: tuple[JobRecord, ...]

    @property
    def declarations(self) -> int:
        """The number of declarations that the runs belong to: each has an identity of its own."""
        return len({_identity(one) for one in self.records})

    @property
    def newest(self) -> tuple[JobRecord, ...]:
        """The live jobs, or the last one that ended; several if a name cannot choose between them."""
        live = [one for one in self.records if not one.state.is_terminal]
        going = [one for one in live if one.state is not JobState.JOB_STATE_CANCELLING]
        if live:
            return tuple(going or live)
        is_one = self.resource.stack or (
            self.declarations == 1 and DECLARATION_LABEL in self.records[0].labels
        )
        return self.records[:1] if is_one else self.records

    def numbers(self) -> dict[str, str]:
        """Return the number of each run by the full name of its job; `3.2` is the second job of run 3.

        The runs of a schedule are numbered in order.
        """
        found: dict[str, str] = {}
        for key, jobs in groupby(sorted(self.records, key=_key), key=_key):
            number = key.rpartition("-")[2]
            for position, record in enumerate(sorted(jobs, key=lambda one: one.create_time or ""), start=1):
                if is_of_schedule(key):
                    found[record.name] = str(position)
                else:
                    found[record.name] = number if position == 1 else f"{number}.{position}"
        return found


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A job or a resource as a command line names it.

    `text` is the argument, `name` the same without a stack. `stack` is the stack that is named with it, None
    without one. `here` returns the stack that is selected in the working directory, `state` its state as
    JSON, None if it cannot be read. `command` returns the same command for another argument. `kind` is the
    value of `--kind`. `path` is the argument's name.
    """

    text: str
    name: str
    stack: StackFilter | None
    here: Callable[[], StackFilter]
    state: Callable[[], str | None]
    command: Callable[[str], str]
    kind: str | None = None
    path: str = "JOB"


def histories(records: Iterable[JobRecord]) -> list[History]:
    """Group jobs by resource, and the jobs of no stack by display name.

    The jobs of one declaration belong together, also if the resource was renamed. So do those of declarations
    with the same owner: a resource that was destroyed and declared again.
    """
    by_identity: dict[str, list[JobRecord]] = {}
    for record in sorted(records, key=lambda one: one.create_time or "", reverse=True):
        by_identity.setdefault(_identity(record), []).append(record)
    by_resource: dict[Resource, list[JobRecord]] = {}
    for group in by_identity.values():
        by_resource.setdefault(resource_of(group[0]), []).extend(group)
    return [
        History(
            resource=resource,
            records=tuple(sorted(group, key=lambda one: one.create_time or "", reverse=True)),
        )
        for resource, group in sorted(by_resource.items())
    ]


def resource_of(record: JobRecord) -> Resource:
    """Return the resource of a job, by its labels."""
    owner = owner_of(record.labels)
    return Resource(
        project=owner.get("project", ""),
        stack=owner.get("stack", ""),
        name=owner.get("resource") or record.display_name,
        kind=gateway_of(record.name).noun,
        is_schedule=is_of_schedule(record.labels.get(RUN_LABEL, "")),
    )


def resolve(wanted: Wanted, known: Sequence[History]) -> History | None:
    """Return what the name stands for, None if nothing has it. Raises InputError if it is not precise."""
    for one in known:
        if any(wanted.text in (record.job_id, record.name) for record in one.records):
            return one
    alike = [one for one in known if wanted.kind in (None, one.resource.flag) and _has_name(one, wanted.name)]
    if not alike:
        return None
    scope = wanted.stack
    if scope is None:
        scope = wanted.here() if any(one.resource.stack for one in alike) else StackFilter()
    if scope == StackFilter():
        found = alike
    else:
        inside = [one for one in alike if _is_in(scope, one)]
        found = [one for one in inside if _is_resource(one, wanted.name)] or inside
        if not found and wanted.stack is None:
            found = alike if scope.stack is None else [one for one in alike if not one.resource.stack]
        if not found:
            raise InputError(
                f"{_sentence(scope)} has no job {wanted.name!r}. {choices(wanted, alike)}", path=wanted.path
            )
    if len(found) > 1:
        noun = "resources" if all(one.resource.stack for one in found) else "jobs"
        raise InputError(
            f"{len(found)} {noun} are named {wanted.text!r}. {choices(wanted, found)}", path=wanted.path
        )
    return found[0]


def choices(wanted: Wanted, found: Sequence[History]) -> str:
    """Return a table of the jobs that a name may mean, each with the command that picks it."""
    now = datetime.now(timezone.utc)
    rows = []
    for one in found:
        same = [other for other in found if _qualified(other.resource) == _qualified(one.resource)]
        by_name = one.resource.stack and len(same) == 1 and len(one.newest) == 1
        for record in one.newest:
            pick = _qualified(one.resource) if by_name else record.job_id
            rows.append(
                (
                    one.resource.stack_name or "no stack",
                    one.resource.kind,
                    record.state.word,
                    f"{_age(record, now)} old",
                    wanted.command(pick),
                )
            )
    shown = rows[:_MOST_ROWS]
    widths = [max(len(row[column]) for row in shown) for column in range(4)]
    lines = [
        "  ".join((*(cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)), row[4]))
        for row in shown
    ]
    if len(rows) > len(shown):
        lines.append(f"and {len(rows) - len(shown)} more: `vertex-training jobs` lists them")
    return "To pick one, run its command:\n" + "\n".join(f"  {visible(line)}" for line in lines)


def _qualified(resource: Resource) -> str:
    return f"{resource.stack_name}/{resource.name}"


def _age(record: JobRecord, now: datetime) -> str:
    if not record.create_time:
        return "0s"
    return duration(max(0.0, (now - timestamps.parse(record.create_time)).total_seconds()))


def _sentence(scope: StackFilter) -> str:
    words = str(scope)
    return words[0].upper() + words[1:]


def _is_in(scope: StackFilter, one: History) -> bool:
    return bool(one.resource.stack) and any(scope.accepts(record.labels) for record in one.records)


def _is_resource(one: History, name: str) -> bool:
    label = ownership_label_value(name)
    return any(record.labels.get("pulumi-resource") == label for record in one.records)


def _has_name(one: History, name: str) -> bool:
    return _is_resource(one, name) or any(record.display_name == name for record in one.records)


def _key(record: JobRecord) -> str:
    return record.labels[RUN_LABEL]


def _identity(record: JobRecord) -> str:
    """Return what the jobs of a declaration have in common; a job without one has its owner and its name."""
    own = record.labels.get(DECLARATION_LABEL) or identity_of(record.labels.get(RUN_LABEL, ""))
    own = own or "/".join((*owner_of(record.labels).values(), record.display_name))
    return f"{record.collection} {own}"
