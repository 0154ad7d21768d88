"""Find a job of any kind by full name, id, resource or display name, and the jobs that it runs."""

from __future__ import annotations

import argparse
import functools
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import InvalidArgument, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.gateway import Inner, gateway_in, gateway_of, gateways
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL
from pulumi_vertex_training.views.jobs import stack_filter
from pulumi_vertex_training.views.jobs.resources import (
    History,
    Wanted,
    choices,
    histories,
    resolve,
    resource_of,
)
from pulumi_vertex_training.views.study_view import cancelled_job_keys, job_key
from pulumi_vertex_training.views.target import location_hint
from vertex_training.command_line.errors import InputError
from vertex_training.fields.document import json_of
from vertex_training.fields.labels import ownership_label_value
from vertex_training.findings.words import did_you_mean, shown

_SHOWN = 5
_MOST_SLASHES = 3
"""In ORGANIZATION/PROJECT/STACK/NAME."""
_NAME = re.compile(
    rf"projects/[^/]+/locations/[^/]+/({'|'.join(entry.collection for entry in registry.RUNNABLE)})/\d+"
)


@dataclass(frozen=True, kw_only=True)
class Found:
    """A job, and the jobs of its resource that were read; None if it was named by its id or full name."""

    record: JobRecord
    history: History | None = None


def wanted_of(options: argparse.Namespace, text: str, *, path: str = "JOB") -> Wanted:
    """Return what an argument names. Raises InputError for a text that cannot be a name."""
    name, stack = text, stack_filter.of_options(options)
    if "/" in text and not _NAME.fullmatch(text):
        stack_name, _, name = text.rpartition("/")
        is_name = all(text.split("/")) and 2 <= text.count("/") <= _MOST_SLASHES
        if not is_name or text.startswith("projects/"):
            raise InputError(
                f"{shown(text)} is not a job name. Give PROJECT/STACK/NAME, an id, or a full name like "
                "projects/P/locations/L/customJobs/123.",
                path=path,
            )
        of_text = stack_filter.named(stack_name, project=None, path=path)
        if stack is not None and (
            stack.stack not in (None, of_text.stack) or stack.project not in (None, of_text.project)
        ):
            raise InputError(f"{shown(text)} is not of {stack}. Name the stack once.", path=path)
        stack = of_text
    words: Sequence[str] = getattr(options, "words", ())

    def command(pick: str) -> str:
        if list(words).count(text) != 1:
            return f"{options.parser.prog} {shlex.quote(pick)}"
        own = (pick if word == text else word for word in words)
        return shlex.join(("vertex-training", *own))

    return Wanted(
        text=text,
        name=name,
        stack=stack,
        here=functools.cache(functools.partial(stack_filter.selected_here, options.timeouts)),
        state=functools.partial(stack_filter.state_here, options.timeouts),
        command=command,
        kind=getattr(options, "kind", None),
        path=path,
    )


def find(endpoint: Endpoint, wanted: Wanted) -> Found:
    """Find a job. Raises InputError if none or several match, and CloudError."""
    text = wanted.text
    if _NAME.fullmatch(text):
        found = _get(endpoint, text)
    else:
        found = _by_id(endpoint, text) if text.isdigit() else None
    if found is not None:
        return Found(record=found)
    chosen = None if _NAME.fullmatch(text) else choose(wanted, _named(endpoint, wanted.name))
    if chosen is None:
        raise _unknown(endpoint, text)
    return chosen


def newest(endpoint: Endpoint, options: argparse.Namespace) -> JobRecord:
    """Return the newest job that no other job runs: of --stack, or else of the stack that is selected here.

    If that stack has none, or none is selected, it is the newest job of all. Raises InputError without any.
    """
    stack = stack_filter.of_options(options)
    outer = outer_jobs(all_jobs(endpoint))
    of_stack = stack or stack_filter.selected_here(options.timeouts)
    found = next((one for one in outer if of_stack.accepts(one.labels)), None)
    if found is None and stack is None:
        found = next(iter(outer), None)
    if found is None:
        whose = f" of {stack}" if stack else ""
        hint = location_hint(endpoint.location)
        raise InputError(
            f"There are no jobs{whose} in {endpoint.project}, {endpoint.location}.{hint}", path="JOB"
        )
    return found


def choose(wanted: Wanted, records: Iterable[JobRecord]) -> Found | None:
    """Return the job of the records that the user means, None if no job has the name. Raises InputError."""
    history = resolve(wanted, histories(records))
    if history is None:
        return None
    by_id = next((one for one in history.records if wanted.text in (one.job_id, one.name)), None)
    if by_id is not None:
        return Found(record=by_id)
    if len(history.newest) > 1:
        raise InputError(
            f"{len(history.newest)} jobs are named {wanted.text!r}. {choices(wanted, [history])}",
            path=wanted.path,
        )
    return Found(record=history.newest[0], history=history)


def is_certainly_meant(wanted: Wanted, found: Found) -> bool:
    """Return whether a job may be stopped without a question.

    It is a job of the stack that is selected in the working directory, and the state has its declaration: a
    stack of another backend may have the same name. Without a state, it is of the only declaration. Or it is
    a job that no stack made, named by its id, or by its display name where no stack is selected.
    """
    record = found.record
    if not resource_of(record).stack:
        return found.history is None or wanted.here().stack is None
    here = wanted.here()
    if here.project is None or here.stack is None or not here.accepts(record.labels):
        return False
    state, declaration = wanted.state(), record.labels.get(DECLARATION_LABEL)
    if state is not None and declaration:
        return declaration in state
    return found.history is None or found.history.declarations == 1


def describe(records: Sequence[JobRecord]) -> str:
    """Describe jobs in one line, newest first."""
    shown = [f"{one.job_id} ({one.display_name}, {one.state.word})" for one in records[:_SHOWN]]
    if len(records) > _SHOWN:
        shown.append(f"and {len(records) - _SHOWN} more")
    return ", ".join(shown)


def _table(records: Sequence[JobRecord]) -> str:
    """Return a line with name, state and id for each of the newest jobs."""
    shown = [(one.display_name, one.state.word, one.job_id) for one in records[:_SHOWN]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]
    if len(records) > _SHOWN:
        lines.append(f"and {len(records) - _SHOWN} more")
    return "\n".join(f"  {line}" for line in lines)


def summary(record: JobRecord) -> dict[str, Any]:
    """Return the JSON keys that every job has in `jobs`, `status` and `cancel`."""
    document: dict[str, Any] = {
        "id": record.job_id,
        "kind": gateway_of(record.name).noun,
        "state": record.state_name,
        **json_of(record, "name display_name create_time start_time end_time labels"),
    }
    return {**document, "error": json_of(record.error, "code message")} if record.error else document


def endpoint_json(endpoint: Endpoint) -> dict[str, str]:
    """Return the JSON of an endpoint."""
    found: dict[str, str] = json_of(endpoint, "kind project location")
    return found


def _get(endpoint: Endpoint, name: str) -> JobRecord | None:
    try:
        return gateway_of(name).get(endpoint, name)
    except (NotFound, InvalidArgument):
        return None


def _by_id(endpoint: Endpoint, job_id: str) -> JobRecord | None:
    """Try the id with every kind. Ids are long random numbers, so no two kinds share one."""
    names = (f"{endpoint.parent}/{entry.collection}/{job_id}" for entry in registry.RUNNABLE)
    return next((record for name in names if (record := _get(endpoint, name))), None)


def all_jobs(endpoint: Endpoint) -> list[JobRecord]:
    """Return all jobs of every kind, newest first."""
    return newest_first(one for gateway in gateways() for one in gateway.list_jobs(endpoint))


def newest_first(records: Iterable[JobRecord]) -> list[JobRecord]:
    """Sort jobs by their creation time, newest first."""
    return sorted(records, key=lambda record: record.create_time or "", reverse=True)


def _named(endpoint: Endpoint, name: str) -> list[JobRecord]:
    """Return the jobs of the resources with this name, and the jobs with this display name."""
    label = {"pulumi-resource": ownership_label_value(name)}
    reads = [
        *(functools.partial(one.list_by_display_name, endpoint, name) for one in gateways()),
        *(functools.partial(one.list_by_label, endpoint, label) for one in gateways()),
    ]
    records = {one.name: one for found in call_each(lambda read: read(), reads) for one in found}
    return outer_jobs(records.values())


def _unknown(endpoint: Endpoint, text: str) -> InputError:
    records = all_jobs(endpoint)
    outer = outer_jobs(records)
    if not records:
        exist = f"There are no jobs in {endpoint.project}, {endpoint.location}."
        exist += location_hint(endpoint.location)
    else:
        exist = f"Jobs in {endpoint.project}, {endpoint.location}:\n{_table(outer or records)}"
    known = [record.display_name for record in records] + [record.job_id for record in records]
    known += [name for record in records if (name := record.labels.get("pulumi-resource"))]
    hint = did_you_mean(text.rpartition("/")[2], known)
    return InputError(f"There is no job {text!r}.{hint} {exist}", path="JOB")


def outer_jobs(records: Collection[JobRecord]) -> list[JobRecord]:
    """Return the jobs that no other of the records runs: trials and jobs of pipelines are left out."""
    owned = inner_jobs(records)
    return [one for one in records if job_key(one.name) not in owned]


def inner_jobs(records: Iterable[JobRecord]) -> dict[str, Inner]:
    """Return the jobs that the records run, by `key`, without trials that have no job yet."""
    inner = (one for record in records for one in gateway_of(record.name).inner(record))
    return {job_key(one.name): one for one in inner}


def backing_of(record: JobRecord) -> str | None:
    """Return the full name of the job that a pipeline runs, None before it exists and for other kinds."""
    inner = gateway_of(record.name).inner(record)
    return next((one.name for one in inner if one.trial is None), None)


def cancelled_jobs(endpoint: Endpoint, records: Iterable[JobRecord]) -> frozenset[str]:
    """Return the keys of custom jobs cancelled since the first of these tuning jobs was created.

    `trials_view.stopped_early` needs them. If no trial has succeeded, nothing is read. Raises CloudError.
    """
    begun = [
        record.create_time or ""
        for record in records
        if any(trial.has_succeeded for trial in gateway_of(record.name).trials(record))
    ]
    if not begun:
        return frozenset()
    since = f' AND create_time>="{min(begun)}"' if all(begun) else ""
    custom_jobs = gateway_in(registry.CUSTOM_JOB.collection)
    return cancelled_job_keys(custom_jobs.list_jobs(endpoint, filter_=f'state="JOB_STATE_CANCELLED"{since}'))
