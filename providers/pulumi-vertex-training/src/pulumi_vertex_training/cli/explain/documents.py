"""Read the document of a job of any kind and the custom job within it, or say what to use instead.

The keys of a document tell its kind and form. Custom jobs have several forms, other kinds one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from itertools import islice
from typing import Any

from pulumi_vertex_training.documents.document import Document, DocumentForm, document_kinds
from pulumi_vertex_training.kinds.custom_job.document import LEGACY_FIELDS, unreadable
from pulumi_vertex_training.kinds.custom_job.forms.role_pools import misnamed
from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from vertex_training.fields.schema import snake_case
from vertex_training.fields.values import kind as kind_of_value
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import is_within
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import JobSpec, parts
from vertex_training.topology import roles

_KINDS_WITHOUT_DOCUMENTS: Mapping[str, str] = {
    "resource_pools": "this is a PersistentResource; pass a job, and this file as --persistent-resource",
    "artifact_uri": "this may be a Model; pass the job or the training pipeline that creates it",
}
"""Fields of kinds that documents cannot describe, each with its remedy.

`DocumentKind.hints` has those of the other kinds.
"""

_EXPLAINED = frozenset({"form", "worker_pool_specs", "custom_job", "replicas", "reduction_servers"})


def hint_about(value: Mapping[object, object], *, legacy: Collection[str]) -> str:
    """Return the remedy for a document in none of the forms; "" if it resembles nothing known.

    `legacy` are the fields of AI Platform's training input that no other form has.
    """
    names = {snake_case(key): key for key in value if isinstance(key, str)}
    for hints in (_KINDS_WITHOUT_DOCUMENTS, *(kind.hints for kind in document_kinds())):
        for name, remedy in hints.items():
            if name in names:
                return remedy
    found = [key for name, key in names.items() if name in legacy and value[key] is not None]
    if found:
        return f"{found[0]} is a field of AI Platform's training input; put it under trainingInput:"
    if "worker_pool_specs" in names:
        return f"{names['worker_pool_specs']} is null; write the list of worker pools"
    return ""


def hint_about_nesting(names: Collection[str]) -> str:
    """Return the remedy for a document with the keys of several kinds, if one belongs inside the other.

    Else return "". Names are in snake case.
    """
    if "study_spec" in names or "trial_job_spec" in names:
        if "worker_pool_specs" in names:
            return "put workerPoolSpecs under trialJobSpec, which is the job of each trial"
        if "job_spec" in names:
            return "the job of each trial is called trialJobSpec in a tuning job; rename jobSpec"
        if "input_data_config" in names or "model_to_upload" in names:
            return "put the fields of the tuning job under trainingTaskInputs"
    elif "input_data_config" in names or "model_to_upload" in names:
        return "put workerPoolSpecs, and the fields next to it, under trainingTaskInputs"
    return ""


def hint_about_scalar(value: object) -> str:
    """Return the remedy for a document that is not a mapping."""
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return "expected a mapping, got a list; put a list of worker pools under workerPoolSpecs:"
    return f"expected a mapping, got {kind_of_value(value)}"


def explained(value: Mapping[object, object], printed: Collection[str]) -> dict[object, object] | None:
    """Return the job in the output of `vertex-training explain --json`; None for any other document.

    The output has the job's fields at its top level. `printed` are the keys of kinds other than custom jobs.
    """
    names = {snake_case(key): item for key, item in value.items() if isinstance(key, str)}
    if not names.keys() >= _EXPLAINED:
        return None
    other = next((names[key] for key in printed if isinstance(names.get(key), Mapping)), None)
    if isinstance(other, Mapping):
        return dict(other)
    job = names["custom_job"]
    if not isinstance(job, Mapping):
        return {"worker_pool_specs": names["worker_pool_specs"]}
    inner: object = next((item for key, item in job.items() if key in ("jobSpec", "job_spec")), {})
    outer = {key: item for key, item in job.items() if key not in ("jobSpec", "job_spec")}
    return {**outer, **inner} if isinstance(inner, Mapping) else dict(job)


def has_task(fields: Mapping[object, object]) -> bool:
    """Return whether any worker pool has a task, except reduction servers."""
    names = ("workerPoolSpecs", "worker_pool_specs")
    tasks = {"containerSpec", "container_spec", "pythonPackageSpec", "python_package_spec"}
    lists = [item for key, item in fields.items() if key in names and isinstance(item, (list, tuple))]
    return any(
        isinstance(pool, Mapping) and tasks & pool.keys() and not _reduces(pool)
        for pools in lists
        for pool in pools
    )


def _reduces(pool: Mapping[object, object]) -> bool:
    """Return whether the task is Google's reduction server, which roles without tasks have as well."""
    task = pool.get("containerSpec")
    image = task.get("imageUri") if isinstance(task, Mapping) else None
    return isinstance(image, str) and roles.is_reduction_server_image(image)


__all__ = ["ONE_FORM", "Document", "job_in", "read_document"]

POOLS_KEY = "worker_pool_specs"

ONE_FORM = Rule(
    name="document-form",
    says="a document describes one job in one form",
    source="ours: it is read as one job",
)

_KINDS = document_kinds()
_FORMS: Mapping[str, DocumentForm] = {form.what: form for kind in _KINDS for form in kind.forms}
_EXAMPLES = "; ".join(kind.example for kind in _KINDS)
_MOST_HINTS = 100
_LONGEST_KEY = 200
_MOST_KEYS = 5


def read_document(value: object, *, options: CheckOptions = DEFAULT_OPTIONS) -> Document[Any]:
    """Read and check the plain values of a document of any kind and form. Never raises.

    Fields that only the service sets are ignored, so that its responses can be read, and so are keys that
    begin with "x-", which hold YAML anchors. The JSON of `explain` is read as the document that it explains.
    """
    if isinstance(value, str) and value.split()[:1] == ["gcloud"]:
        value = {"gcloud": value}
    if not isinstance(value, Mapping):
        return _nothing(f"{hint_about_scalar(value)}; {_EXAMPLES}")
    value = {key: item for key, item in value.items() if not (isinstance(key, str) and key.startswith("x-"))}
    printed = explained(value, [kind.printed for kind in _KINDS if kind.printed])
    if printed is not None:
        value = printed
        if any(snake_case(str(key)) == POOLS_KEY for key in printed):
            options = replace(options, with_tasks=options.with_tasks and has_task(printed))
    names = {snake_case(key): key for key in value if isinstance(key, str) and value[key] is not None}
    found = {what: _first(names, form.keys) for what, form in _FORMS.items()}
    given = {what: key for what, key in found.items() if key is not None}
    if len(given) > 1:
        keys = [f"{what} ({key})" for what, key in given.items()]
        remedy = hint_about_nesting(names) or "keep one form"
        return _nothing(f"the document mixes {all_of(keys)}; {remedy}")
    if not given:
        about = hint_about(value, legacy=LEGACY_FIELDS) or _hint([str(key) for key in value]) + _EXAMPLES
        return _nothing(f"this does not describe a job{_found(value)}; {about}")
    (what,) = given
    return _FORMS[what].read(value, options)


def _first(names: Mapping[str, str], wanted: Iterable[str]) -> str | None:
    """Return the first of the `wanted` keys that the document has, as it is written there, or None."""
    return next((names[name] for name in wanted if name in names), None)


def _found(value: Mapping[Any, object]) -> str:
    """Return words about the keys of a document."""
    keys = [str(key) for key in value]
    if not keys:
        return ": the document is empty"
    more = f" and {len(keys) - _MOST_KEYS} more keys" if len(keys) > _MOST_KEYS else ""
    shown = [key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}..." for key in keys[:_MOST_KEYS]]
    return f": the document has {', '.join(shown) if more else all_of(shown)}{more}"


def _hint(keys: Iterable[str]) -> str:
    words = [word for form in _FORMS.values() for word in form.keys]
    likely = islice((key for key in keys if len(key) <= _LONGEST_KEY), _MOST_HINTS)
    found = (misnamed(snake_case(key)) or nearest(snake_case(key), words, count=1) for key in likely)
    hint = next((hint for hint in found if hint), "")
    return f"{hint} " if hint else ""


def _nothing(message: str) -> Document[Any]:
    return unreadable("pools", (ONE_FORM.broken("", message),))


def job_in(document: Document[Any]) -> tuple[str, Document[CustomJobSpec]]:
    """Return the job within a document, as a document of a custom job, after its path there.

    The path is "" for a custom job and "trial_job_spec" for a tuning job. The job's spec is None if there is
    nothing to run. The paths in its `damaged` are relative to the job, the problems' are not.
    """
    if document.kind is CUSTOM_JOB:
        return "", document
    path, part = next(parts(document.spec), ("", None))
    damaged = frozenset(
        gap[len(path) :].lstrip(".") if is_within(gap, path) else ""
        for gap in document.damaged
        if is_within(gap, path) or is_within(path, gap)
    )
    spec = None
    if part is not None:
        own = {each.name: getattr(part, each.name) for each in fields(JobSpec)}
        spec = CustomJobSpec(display_name="", **own)
    return path, Document(
        form="pools",
        kind=CUSTOM_JOB,
        spec=spec,
        problems=document.problems,
        sizing=document.sizing,
        location=document.location,
        damaged=damaged,
    )
