"""`diff`: what changes between two declarations, and what that does to a job that runs."""

from __future__ import annotations

import argparse
import difflib
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vertex_training.cli import check_switches, explain_json, files
from vertex_training.cli.explanation import has_tasks, is_bare
from vertex_training.cli.failure import BAD_INPUT, FAILED, InputError
from vertex_training.cli.output import Cell, Output, visible
from vertex_training.specs import documents, rule_index
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.custom_job_kind import CUSTOM_JOB
from vertex_training.specs.documents import Document
from vertex_training.specs.effects import Effect
from vertex_training.specs.job_difference import JobDifference, as_document
from vertex_training.topology.changes import FieldChange
from vertex_training.topology.options import CheckOptions
from vertex_training.topology.pools import EMPTY_POOL, WorkerPoolSpec
from vertex_training.topology.problems import errors, warnings
from vertex_training.topology.roles import MAX_POOLS

_ARGUMENTS = ("OLD", "NEW")
_REGION = "a job runs in the region it was created in"
_OF_READING = ("Documents and roles", "The command gcloud ai-platform")
_SHAPE = frozenset(rule.name for topic in _OF_READING for rule in rule_index.TOPICS[topic])
"""Rules that leave in doubt what was declared."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A difference, and what took no part in it because one of the two does not say it."""

    difference: JobDifference
    tasks: bool
    job_fields: bool


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One of the two: its findings as JSON has them. `excused`: errors of OLD, which a repair is to mend."""

    file: str
    document: Document | None
    errors: tuple[dict[str, str], ...] = ()
    excused: tuple[dict[str, str], ...] = ()
    warnings: tuple[dict[str, str], ...] = ()


def diff(options: argparse.Namespace, output: Output) -> int:
    """Exit code 2 when NEW has an error, or OLD cannot be read: what is not clear has no difference.

    What breaks a rule in OLD is a warning, so that its repair can be seen.
    """
    checks = check_switches.of_options(options)
    sides = _read((options.old, options.new), checks)
    found = [error for side in sides for error in side.errors]
    old, new = (side.document for side in sides)
    comparison = None if found or old is None or new is None else compare(old, new)
    if output.as_json:
        output.document(_document(comparison, sides, found))
    elif comparison is None:
        output.errors([{"message": visible(_in_one_line(error))} for error in found])
    else:
        _show(comparison, output)
        for side in sides:
            for note in _notes(side):
                output.note(note)
    if comparison is None:
        return BAD_INPUT
    return FAILED if comparison.difference.paths and options.exit_code else 0


def compare(old: Document, new: Document) -> Comparison:
    """Two documents without errors, of any form, by what both of them say.

    Where one has no tasks, as roles usually have none, tasks are not compared; where one has nothing but
    pools, only pools are; a name and a region are compared when both have one. Raises ValueError for a
    document without a spec.
    """
    if old.spec is None or new.spec is None:
        raise ValueError("a document that cannot be read has no difference to another")
    before, after = old.spec, new.spec
    tasks = has_tasks(before) == has_tasks(after)
    if not tasks:
        before, after = _with_tasks_of(before, after), _with_tasks_of(after, before)
    job_fields = is_bare(before) == is_bare(after)
    if not job_fields:
        before = replace(after, worker_pool_specs=before.worker_pool_specs)
    elif not (before.display_name and after.display_name):
        before = replace(before, display_name=after.display_name)
    difference = _with_locations(CUSTOM_JOB.compare(before, after), old.location, new.location)
    return Comparison(difference=difference, tasks=tasks, job_fields=job_fields)


def _with_locations(difference: JobDifference, old: str | None, new: str | None) -> JobDifference:
    """The difference with that of the regions, where both are known."""
    if not old or not new or old == new:
        return difference
    kept = difference.reasons if difference.effect is Effect.REPLACE else ()
    return replace(
        difference,
        effect=Effect.REPLACE,
        reasons=(*kept, _REGION),
        fields=(FieldChange(path="location", old=old, new=new), *difference.fields),
    )


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


def _read(names: Sequence[str], checks: CheckOptions) -> tuple[_Side, _Side]:
    """Both documents as far as they can be read. Raises InputError for standard input twice."""
    if names[0] == names[1] == files.STANDARD_INPUT:
        raise InputError(
            "Only one of OLD and NEW can be standard input; give a file for the other.", path="NEW"
        )
    old, new = (_side(name, argument, checks) for name, argument in zip(names, _ARGUMENTS, strict=True))
    return old, new


def _side(name: str, argument: str, checks: CheckOptions) -> _Side:
    file = files.called(name)
    try:
        value = files.read(name, argument=argument)
    except InputError as error:
        found = {"path": error.path, "message": str(error), "rule": "", "source": "", "file": file}
        return _Side(file=file, document=None, errors=(found,))
    document = documents.read_document(value, options=checks)
    wrong = check_switches.all_with_flags(errors(document.problems))
    excused = argument == "OLD" and _says_what_it_means(document)
    return _Side(
        file=file,
        document=document,
        errors=() if excused else tuple(explain_json.findings(wrong, file=file)),
        excused=tuple(explain_json.findings(wrong, file=file)) if excused else (),
        warnings=tuple(
            explain_json.findings(check_switches.all_with_flags(warnings(document.problems)), file=file)
        ),
    )


def _says_what_it_means(document: Document) -> bool:
    """Whether its errors are broken rules alone, so that there is no doubt what was declared."""
    return (
        document.spec is not None
        and len(document.spec.worker_pool_specs) <= MAX_POOLS
        and not document.damaged
        and all(each.rule and each.rule not in _SHAPE for each in errors(document.problems))
    )


def _document(
    comparison: Comparison | None, sides: Sequence[_Side], found: Sequence[dict[str, str]]
) -> dict[str, Any]:
    """The same keys with and without errors."""
    nothing: dict[str, Any] = {
        "effect": None,
        "reasons": [],
        "pools": [],
        "unchanged": [],
        "fields": [],
        "words": None,
    }
    compared = comparison and {"tasks": comparison.tasks, "jobFields": comparison.job_fields}
    return {
        **(as_document(comparison.difference) if comparison else nothing),
        "compared": compared,
        "errors": list(found),
        "warnings": [finding for side in sides for finding in (*side.excused, *side.warnings)],
    }


def _notes(side: _Side) -> Iterator[str]:
    if count := len(side.excused):
        what, them = ("1 error", "it") if count == 1 else (f"{count} errors", "them")
        yield (
            f"{side.file} has {what}; it is the old one, so it is compared all the same. "
            f"`vertex-training explain` shows {them}."
        )
    if count := len(side.warnings):
        what = "1 warning" if count == 1 else f"{count} warnings"
        yield f"{side.file} has {what}; `vertex-training explain` shows them."


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
