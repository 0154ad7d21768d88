"""`diff`: compare two declarations, and print the changes and their effect on an existing resource."""

from __future__ import annotations

import argparse
import difflib
import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.cli import check_switches, files
from pulumi_vertex_training.cli.explain import documents, rule_index
from pulumi_vertex_training.cli.explain import json as explain_json
from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from pulumi_vertex_training.views.explained import has_tasks, is_bare
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import BAD_INPUT, FAILED, InputError
from vertex_training.command_line.output import Cell, Output
from vertex_training.fields.document import json_of
from vertex_training.fields.effects import Effect
from vertex_training.fields.schema import Origins, written_path
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import errors, warnings
from vertex_training.findings.words import all_of, counted, visible
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.difference import JobDifference, as_document, name_of
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import parts
from vertex_training.topology.changes import FieldChange
from vertex_training.topology.pools import EMPTY_POOL, WorkerPoolSpec
from vertex_training.topology.roles import MAX_POOLS


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A difference, and the fields that were not compared because one document does not give them.

    `tasks` says whether the tasks of worker pools were compared, and `job_fields` the fields of a custom job
    besides its pools. `unsaid` are other fields of the kind that were not compared.
    """

    kind: JobKind[Any]
    difference: JobDifference
    tasks: bool = True
    job_fields: bool = True
    unsaid: tuple[str, ...] = ()


def compare(old: Document[Any], new: Document[Any]) -> Comparison:
    """Compare two documents of one kind, in any form and without errors.

    A field that one document leaves to the submitter is not compared, nor a region that only one has. Values
    that the service has filled in are ignored. Raises ValueError for a document without a spec, or for two
    kinds.
    """
    if old.spec is None or new.spec is None or old.kind is not new.kind:
        raise ValueError("only two readable documents of one kind can be compared")
    kind, before, after = old.kind, old.spec, new.spec
    if old.answered and not new.answered:
        before = kind.as_declared(after, before)
    elif new.answered and not old.answered:
        after = kind.as_declared(before, after)
    if kind is CUSTOM_JOB:
        found = _compare_jobs(before, after)
    else:
        unsaid = old.unsaid ^ new.unsaid
        before = replace(before, **{name: getattr(after, name) for name in unsaid})
        found = Comparison(kind=kind, difference=kind.compare(before, after), unsaid=tuple(sorted(unsaid)))
    difference = _with_locations(found, old.location, new.location)
    return replace(found, difference=_as_written(difference, new.origins if old.origins else {}))


def _compare_jobs(before: CustomJobSpec, after: CustomJobSpec) -> Comparison:
    """Compare two custom jobs.

    If one has no tasks, as is usual for roles, tasks are not compared. If one has only pools, only pools are
    compared. Display names are compared if both have one.
    """
    tasks = has_tasks(before) == has_tasks(after)
    if not tasks:
        before, after = _with_tasks_of(before, after), _with_tasks_of(after, before)
    job_fields = is_bare(before) == is_bare(after)
    if not job_fields:
        before = replace(after, worker_pool_specs=before.worker_pool_specs)
    elif not (before.display_name and after.display_name):
        before = replace(before, display_name=after.display_name)
    difference = CUSTOM_JOB.compare(before, after)
    return Comparison(kind=CUSTOM_JOB, difference=difference, tasks=tasks, job_fields=job_fields)


def _with_locations(found: Comparison, old: str | None, new: str | None) -> JobDifference:
    """Add the difference of the regions, if both are known."""
    difference = found.difference
    if not old or not new or old == new:
        return difference
    kept = difference.reasons if difference.effect is Effect.REPLACE else ()
    one = found.kind.it.replace("the", "a", 1)
    return replace(
        difference,
        effect=Effect.REPLACE,
        reasons=(*kept, f"{one} runs in the region it was created in"),
        fields=(FieldChange(path="location", old=old, new=new), *difference.fields),
    )


def _as_written(difference: JobDifference, origins: Origins) -> JobDifference:
    """Replace paths of the spec by the document's, where they differ."""
    if not origins:
        return difference

    def written(changes: Iterable[FieldChange]) -> tuple[FieldChange, ...]:
        return tuple(replace(change, path=written_path(change.path, origins)) for change in changes)

    return replace(
        difference,
        pools=tuple(replace(pool, fields=written(pool.fields)) for pool in difference.pools),
        fields=written(difference.fields),
        names={written_path(path, origins): name for path, name in difference.names.items()},
    )


def _with_tasks_of(spec: CustomJobSpec, other: CustomJobSpec) -> CustomJobSpec:
    """Return the spec with missing tasks taken from the other's pool at the same position."""
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


_ARGUMENTS = ("OLD", "NEW")
_READING_TOPICS = ("Documents and roles", "The command gcloud ai-platform")
_AMBIGUOUS = frozenset(rule.name for topic in _READING_TOPICS for rule in rule_index.TOPICS[topic])
"""Rules whose findings leave in doubt what was declared."""


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One of the two documents, with its findings as in JSON. `excused` are errors shown as warnings."""

    file: str
    document: Document[Any] | None
    errors: tuple[dict[str, str], ...] = ()
    excused: tuple[dict[str, str], ...] = ()
    warnings: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class DiffAnswer(Answer):
    """The changes between two documents; None as `comparison` and errors in `found` if there are any.

    `fails_on_change` is --exit-code.
    """

    comparison: Comparison | None
    sides: tuple[_Side, _Side]
    found: Sequence[dict[str, str]]
    fails_on_change: bool

    @property
    def exit_code(self) -> int:
        if self.comparison is None:
            return BAD_INPUT
        return FAILED if self.comparison.difference.paths and self.fails_on_change else 0

    def document(self) -> dict[str, Any]:
        """Return the JSON, with the same keys with and without errors."""
        comparison = self.comparison
        nothing: dict[str, Any] = {name: [] for name in ("reasons", "pools", "unchanged", "fields")}
        nothing |= {"kind": None, "effect": None, "words": None}
        of_both = comparison and {"kind": comparison.kind.noun, **as_document(comparison.difference)}
        return {
            **(of_both or nothing),
            "compared": comparison and json_of(comparison, "tasks job_fields unsaid"),
            "errors": list(self.found),
            "warnings": [one for side in self.sides for one in (*side.excused, *side.warnings)],
        }

    def show(self, output: Output) -> None:
        if self.comparison is None:
            output.errors([{"message": visible(_in_one_line(error))} for error in self.found])
            return
        _show(self.comparison, output)
        for side in self.sides:
            for note in _notes(side):
                output.note(note)


def diff(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `diff`. The exit code is 2 if NEW has an error or OLD cannot be read.

    A broken rule in OLD is only a warning, so that the difference to its fix can be shown.
    """
    checks = check_switches.of_options(options)
    sides = _read((options.old, options.new), checks)
    found = [error for side in sides for error in side.errors]
    old, new = (side.document for side in sides)
    comparison = None
    if not found and old is not None and new is not None:
        if old.kind is new.kind:
            comparison = compare(old, new)
        else:
            found = [_of_two_kinds(sides[1], old, new)]
    return DiffAnswer(comparison=comparison, sides=sides, found=found, fails_on_change=options.exit_code)


def _read(names: Sequence[str], checks: CheckOptions) -> tuple[_Side, _Side]:
    """Read both documents as far as possible. Raises InputError if both are standard input."""
    if names[0] == names[1] == files.STANDARD_INPUT:
        raise InputError(
            "Only one of OLD and NEW can be standard input. Give a file for the other.", path="NEW"
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
    excused = argument == "OLD" and _is_unambiguous(document)
    return _Side(
        file=file,
        document=document,
        errors=() if excused else tuple(explain_json.findings(wrong, file=file)),
        excused=tuple(explain_json.findings(wrong, file=file)) if excused else (),
        warnings=tuple(
            explain_json.findings(check_switches.all_with_flags(warnings(document.problems)), file=file)
        ),
    )


def _of_two_kinds(side: _Side, old: Document[Any], new: Document[Any]) -> dict[str, str]:
    """Return the error for documents of two kinds."""
    is_now, was = new.kind, old.kind
    message = (
        f"this is a {is_now.noun}, but OLD is a {was.noun}; compare two documents of the same kind. To "
        "compare their jobs, give the worker pools of both: `explain --json` prints them as workerPoolSpecs"
    )
    return {"path": "", "message": message, "rule": "", "source": "", "file": side.file}


def _is_unambiguous(document: Document[Any]) -> bool:
    """Return whether the document is clear apart from broken rules."""
    return (
        document.spec is not None
        and all(len(part.worker_pool_specs) <= MAX_POOLS for _, part in parts(document.spec))
        and not document.damaged
        and all(each.rule and each.rule not in _AMBIGUOUS for each in errors(document.problems))
    )


def _notes(side: _Side) -> Iterator[str]:
    if count := len(side.excused):
        what, them = ("1 error", "it") if count == 1 else (f"{count} errors", "them")
        yield (
            f"{side.file} has {what}. It is compared anyway, because it is the old version. `vertex-training "
            f"explain` shows {them}."
        )
    if count := len(side.warnings):
        what = "1 warning" if count == 1 else f"{count} warnings"
        yield f"{side.file} has {what}; `vertex-training explain` shows them."


def _in_one_line(error: dict[str, str]) -> str:
    """Return a finding with its file; a message about the file itself already names it."""
    if error["path"] in _ARGUMENTS:
        return error["message"]
    return ": ".join(part for part in (error["file"], error["path"], error["message"]) if part)


def _show(comparison: Comparison, output: Output) -> None:
    difference = comparison.difference
    if not difference.paths:
        output.line("No differences.")
    else:
        output.paragraph(f"{difference.effect}: {_headline(difference)}", style="bold")
        output.paragraph(f"Because {'; '.join(difference.reasons)}.")
        output.line()
        rows = list(_rows(comparison))
        output.table(["POOL", "FIELD", "OLD", "NEW"], rows, styles=["", "", "red", "green"])
    if comparison.unsaid:
        fields = f"{all_of(comparison.unsaid)}, because only one of the two files has it"
        output.paragraph(f"Not compared: {fields}.", style="dim")
    if not comparison.tasks:
        output.paragraph("Tasks are not compared: one of the two files has none.", style="dim")
    if not comparison.job_fields:
        output.paragraph(
            "Only worker pools are compared: one of the two files has nothing else.", style="dim"
        )


def _headline(difference: JobDifference) -> str:
    """Return how much differs: "2 of 4 pools and 1 other field differ"."""
    pools = [pool for pool in difference.pools if pool.change != "unchanged"]
    parts = [f"{len(pools)} of {counted(len(difference.pools), 'pool')}"] if pools else []
    if fields := len(difference.fields):
        parts.append(counted(fields, "other field" if pools else "field"))
    return f"{all_of(parts)} differ{'s' if len(pools) + fields == 1 else ''}"


def _rows(comparison: Comparison) -> Iterator[list[Cell]]:
    difference = comparison.difference
    whole = comparison.kind.noun.rpartition(" ")[2]
    for pool in difference.pools:
        count = max(pool.old.replica_count, pool.new.replica_count)
        for field in pool.fields:
            yield [
                f"{pool.index} {pool.role.in_words(count)}",
                field.path.partition("].")[2] or field.path,
                *_values(field),
            ]
    for field in difference.fields:
        yield [whole, (field.path, name_of(field.path, difference.names)), *_values(field)]


def _values(field: FieldChange) -> tuple[str, str]:
    """Return old and new as texts; of two lists only the differing items, with ... for the others."""
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
