"""`diff`: what changes between two declarations, and what that does to a job that runs."""

from __future__ import annotations

import argparse
import difflib
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vertex_training.cli import check_switches, explain_json, files
from vertex_training.cli.explanation import has_tasks
from vertex_training.cli.failure import BAD_INPUT, FAILED, InputError
from vertex_training.cli.output import Cell, Output, visible
from vertex_training.specs import documents
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.custom_job_difference import JobDifference, as_document, compare_jobs
from vertex_training.specs.documents import Document
from vertex_training.topology.changes import FieldChange
from vertex_training.topology.options import CheckOptions
from vertex_training.topology.pools import EMPTY_POOL, WorkerPoolSpec
from vertex_training.topology.problems import errors, warnings

_ARGUMENTS = ("OLD", "NEW")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A difference, and what took no part in it because one of the two does not say it."""

    difference: JobDifference
    tasks: bool
    job_fields: bool


def diff(options: argparse.Namespace, output: Output) -> int:
    """Exit code 2 when one of the two has an error: what a wrong declaration means nobody can say."""
    checks = check_switches.of_options(options)
    names = (options.old, options.new)
    read = _read(names, checks, output)
    if read is None:
        return BAD_INPUT
    comparison = compare(*read)
    differs = bool(comparison.difference.paths)
    if output.as_json:
        output.document(
            {
                **as_document(comparison.difference),
                "compared": {"tasks": comparison.tasks, "jobFields": comparison.job_fields},
                "warnings": [
                    finding
                    for name, document in zip(names, read, strict=True)
                    for finding in explain_json.findings(warnings(document.problems), file=files.called(name))
                ],
            }
        )
    else:
        _show(comparison, output)
        for name, document in zip(names, read, strict=True):
            if count := len(warnings(document.problems)):
                what = "1 warning" if count == 1 else f"{count} warnings"
                output.note(f"{files.called(name)} has {what}; `vertex-training explain` shows them.")
    return FAILED if differs and options.exit_code else 0


def compare(old: Document, new: Document) -> Comparison:
    """Two documents without errors, of any form, by what both of them say.

    Where one has no tasks, as roles usually have none, tasks are not compared; where one has nothing but
    pools, only pools are; a name is compared when both have one. Raises ValueError for a document without a
    spec.
    """
    if old.spec is None or new.spec is None:
        raise ValueError("a document that cannot be read has no difference to another")
    before, after = old.spec, new.spec
    tasks = has_tasks(before) == has_tasks(after)
    if not tasks:
        before, after = _with_tasks_of(before, after), _with_tasks_of(after, before)
    job_fields = _is_bare(before) == _is_bare(after)
    if not job_fields:
        before = replace(after, worker_pool_specs=before.worker_pool_specs)
    elif not (before.display_name and after.display_name):
        before = replace(before, display_name=after.display_name)
    return Comparison(difference=compare_jobs(before, after), tasks=tasks, job_fields=job_fields)


def _is_bare(spec: CustomJobSpec) -> bool:
    """Whether there is nothing beside the pools."""
    return replace(spec, worker_pool_specs=()) == CustomJobSpec(display_name="", worker_pool_specs=())


def _with_tasks_of(spec: CustomJobSpec, other: CustomJobSpec) -> CustomJobSpec:
    """The spec, in which pools without a task have that of the pool at the same position."""
    pools: list[WorkerPoolSpec] = []
    for i, pool in enumerate(spec.worker_pool_specs):
        there = other.worker_pool_specs[i] if i < len(other.worker_pool_specs) else EMPTY_POOL
        if pool.is_empty or pool.task is not None:
            pools.append(pool)
        else:
            pools.append(
                replace(
                    pool,
                    container_spec=there.container_spec,
                    python_package_spec=there.python_package_spec,
                )
            )
    return replace(spec, worker_pool_specs=tuple(pools))


def _read(names: Sequence[str], checks: CheckOptions, output: Output) -> tuple[Document, Document] | None:
    """Both documents; None when there were errors, which have been printed then."""
    if names[0] == names[1] == files.STANDARD_INPUT:
        raise InputError(
            "Only one of OLD and NEW can be standard input; give a file for the other.", path="NEW"
        )
    read: list[Document] = []
    found: list[dict[str, str]] = []
    for name, argument in zip(names, _ARGUMENTS, strict=True):
        try:
            value = files.read(name, argument=argument)
        except InputError as error:
            found.append({"path": error.path, "message": str(error), "file": files.called(name)})
            continue
        read.append(documents.read_document(value, options=checks))
        found += explain_json.findings(errors(read[-1].problems), file=files.called(name))
    if not found:
        return read[0], read[1]
    if output.as_json:
        output.document({"errors": found})
    else:
        output.errors([{"message": visible(_in_one_line(error))} for error in found])
    return None


def _in_one_line(error: dict[str, str]) -> str:
    """A finding with its file; those about a file as such name it themselves."""
    if error["path"] in _ARGUMENTS:
        return error["message"]
    return ": ".join(part for part in (error["file"], error["path"], error["message"]) if part)


def _show(comparison: Comparison, output: Output) -> None:
    difference = comparison.difference
    if not difference.paths:
        output.line("No differences.")
    else:
        output.paragraph(f"{difference.words}.", style="bold")
        output.line()
        rows = list(_rows(difference))
        output.table(["POOL", "FIELD", "OLD", "NEW"], rows, styles=["", "", "red", "green"])
        output.line()
        output.paragraph(f"Effect: {difference.effect}, because {'; '.join(difference.reasons)}.")
    if not comparison.tasks:
        output.paragraph("Tasks are not compared: one of the two has none.", style="dim")
    if not comparison.job_fields:
        output.paragraph("Only worker pools are compared: one of the two has nothing else.", style="dim")


def _rows(difference: JobDifference) -> Iterator[list[Cell]]:
    for pool in difference.pools:
        count = max(pool.old.replica_count, pool.new.replica_count)
        for field in pool.fields:
            yield [
                f"{pool.index} {pool.role.in_words(count)}",
                field.path.partition("].")[2] or field.path,
                *_values(field),
            ]
    for field in difference.fields:
        yield ["job", field.path, *_values(field)]


def _values(field: FieldChange) -> tuple[str, str]:
    """Old and new as texts; of two lists only what is not in both, with ... for the rest."""
    old, new = field.old, field.new
    if not (isinstance(old, tuple) and isinstance(new, tuple)):
        return _text(old), _text(new)
    before, after = [_text(item) for item in old], [_text(item) for item in new]
    left: list[str] = []
    right: list[str] = []
    for kind, i, j, m, n in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        left += ["..."] if kind == "equal" else before[i:j]
        right += ["..."] if kind == "equal" else after[m:n]
    return " ".join(left), " ".join(right)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return shlex.join(value)
    return json.dumps(value, ensure_ascii=False, default=str)
