"""Documents of custom jobs in every form that people have.

The forms are worker pools, a whole custom job, roles, a training input of legacy AI Platform, and the command
that submitted one. Each becomes a custom job in normal form. Findings use the words of the document.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.documents.document import (
    DIRECTORY,
    REGIONS,
    Document,
    DocumentForm,
    DocumentKind,
    flat_directory,
    is_answer,
    key_name,
    location_in_name,
    without_output,
    without_region,
)
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.conversion import convert
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.document import read_job_document
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import TrainingInput, read_job
from pulumi_vertex_training.kinds.custom_job.forms.gcloud import KEY as GCLOUD_KEY
from pulumi_vertex_training.kinds.custom_job.forms.gcloud import Creation, read_creation
from pulumi_vertex_training.kinds.custom_job.forms.role_pools import POSITIONS, read_roles
from pulumi_vertex_training.kinds.custom_job.kind import KIND, validate
from vertex_training.fields.decode import decode, encode
from vertex_training.fields.lists import with_lists
from vertex_training.fields.schema import Origins, as_written
from vertex_training.fields.values import kind
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem, known
from vertex_training.job.custom_job import CustomJobSpec, normalise
from vertex_training.job.framework_choices import Chosen, choose
from vertex_training.job.reading import fill_parts

JOB_KEY = "job_spec"

LEGACY_FIELDS = frozenset(field.name for field in dataclasses.fields(TrainingInput)) - {
    "args",
    "network",
    "region",
    "scheduling",
    "service_account",
    "enable_web_access",
}
"""The fields of AI Platform's training input that are in no other form."""


@dataclass(frozen=True, kw_only=True)
class LegacyDocument(Document[CustomJobSpec]):
    """A custom job that was written as a training input of AI Platform."""

    training_input: TrainingInput


def unreadable(form: str, problems: tuple[Problem, ...]) -> Document[CustomJobSpec]:
    """Return the document of a job that cannot be read at all."""
    return Document(form=form, kind=KIND, spec=None, problems=problems, damaged=frozenset({""}))


def read_job_or_pools(value: Mapping[Any, object], options: CheckOptions) -> Document[CustomJobSpec]:
    """Read worker pools with or without other fields of a job, or the API's nesting of them."""
    outer, problems = without_region(without_output(value, CustomJobSpec.SERVER_OWNED))
    nested = next((key for key in outer if key_name(key) == JOB_KEY), None)
    fields = dict(outer)
    if nested is not None:
        inner = fields.pop(nested)
        if not isinstance(inner, Mapping):
            message = f"expected a mapping with worker_pool_specs, got {kind(inner)}"
            return unreadable("job", (Problem(path=JOB_KEY, message=message),))
        outer_names = {key_name(key) for key in fields}
        for key, item in inner.items():
            if key_name(key) in outer_names and item is not None:
                message = "is given both in job_spec and outside of it; keep one"
                problems.append(Problem(path=key_name(key), message=message))
            else:
                fields[key] = item
    problems += flat_directory(fields, is_api=nested is not None)
    named = nested is not None or any(key_name(key) == "display_name" for key in fields)
    document = _checked(
        with_lists(CustomJobSpec, fields),
        form="job" if named else "pools",
        options=replace(options, location=options.location or location_in_name(value)),
        needs_name=named,
    )
    twice = frozenset(problem.path for problem in problems if problem.path not in (*REGIONS, DIRECTORY))
    return replace(
        document,
        problems=(*problems, *document.problems),
        damaged=document.damaged | twice,
        answered=is_answer(value),
    )


def read_by_role(value: Mapping[Any, object], options: CheckOptions) -> Document[CustomJobSpec]:
    """Read machines by role."""
    location = options.location or location_in_name(value)
    fields, wrong = without_region(without_output(value, CustomJobSpec.SERVER_OWNED))
    read = read_roles(fields, location=location)
    document = _checked(
        read.fields,
        form="roles",
        options=replace(options, location=location, with_tasks=options.with_tasks and read.with_tasks),
        origins=read.origins,
        needs_name=any(key_name(key) == "display_name" for key in value),
    )
    return replace(
        document,
        problems=(*wrong, *read.problems, *document.problems),
        damaged=document.damaged | read.damaged,
    )


def _checked(
    fields: Mapping[Any, object],
    *,
    form: str,
    options: CheckOptions,
    needs_name: bool,
    origins: Origins | None = None,
) -> Document[CustomJobSpec]:
    """Decode, normalise and validate the fields of a job; check its name only if the form has one."""
    named = dict(fields) if needs_name else {"display_name": "", **fields}
    filled = fill_parts(named, location=options.location, framework=options.framework)
    check = _without_name(options) if not needs_name else _all_rules(options)
    decoded = filled.with_reasons(decode(CustomJobSpec, filled.value)).then(normalise, check)
    return Document(
        form=form,
        kind=KIND,
        spec=decoded.draft,
        problems=as_written((*filled.problems, *decoded.problems), origins or {}),
        sizing=filled.sizing,
        choices=filled.choices,
        chosen=filled.sentences,
        location=options.location,
        damaged=decoded.unknown | decoded.damaged,
    )


def _all_rules(options: CheckOptions) -> Callable[[CustomJobSpec], list[Problem]]:
    return lambda spec: validate(spec, options=options)


def _without_name(options: CheckOptions) -> Callable[[CustomJobSpec], list[Problem]]:
    """Return the rules of a job without its display name's, which the form does not have."""
    return lambda spec: [p for p in validate(spec, options=options) if p.path != "display_name"]


def _of_creation(creation: Creation, options: CheckOptions) -> Document[CustomJobSpec]:
    """Check the job that `gcloud ai custom-jobs create` would submit."""
    document = _checked(
        creation.fields,
        form="job",
        options=replace(options, location=options.location or creation.region),
        needs_name=True,
        origins=creation.origins,
    )
    return replace(document, problems=(*creation.problems, *document.problems))


def read_training_input(value: Mapping[Any, object], options: CheckOptions) -> Document[CustomJobSpec]:
    """Read a training input of AI Platform, or the gcloud command for a training input or a custom job."""
    creation = read_creation(value)
    if creation is not None:
        return _of_creation(creation, options)
    document = read_job_document(value)
    if document.job is None:
        return unreadable("training_input", document.problems)
    decoded = read_job(document.job)
    if decoded.draft is None:
        return unreadable("training_input", document.as_written((*document.problems, *decoded.problems)))
    given = decoded.draft.training_input
    gaps = decoded.unknown | decoded.damaged | document.unread
    region = None if "training_input.region" in gaps else given.region
    location = options.location or region or None
    conversion = convert(decoded.draft, location=location, unread=gaps)
    check = replace(options, location=location, with_tasks=options.with_tasks and conversion.with_tasks)
    rules = _all_rules(check) if decoded.draft.job_id is not None else _without_name(check)
    spec, chosen = _with_choices(conversion.spec, check)
    converted = as_written(rules(spec), conversion.origins)
    found = (
        *document.problems,
        *decoded.problems,
        *conversion.problems,
        *known(converted, conversion.invalid),
    )
    return LegacyDocument(
        form="training_input",
        kind=KIND,
        spec=normalise(spec),
        problems=document.as_written(found),
        training_input=given,
        choices=chosen.choices,
        chosen=chosen.sentences,
        location=location,
        damaged=conversion.damaged,
    )


def _with_choices(spec: CustomJobSpec, options: CheckOptions) -> tuple[CustomJobSpec, Chosen]:
    """Return a converted job with the choices of the framework in `options`, and what was chosen."""
    chosen = choose(encode(spec), options.framework, location=options.location)
    if not chosen.choices:
        return spec, chosen
    return decode(CustomJobSpec, chosen.value).draft or spec, chosen


DOCUMENT = DocumentKind(
    forms=(
        DocumentForm(what="worker pools", keys=("worker_pool_specs",), read=read_job_or_pools),
        DocumentForm(what="a custom job", keys=(JOB_KEY,), read=read_job_or_pools),
        DocumentForm(what="roles", keys=tuple(POSITIONS), read=read_by_role),
        DocumentForm(what="a training input", keys=("training_input", GCLOUD_KEY), read=read_training_input),
    ),
    example='a custom job is read as {"displayName": ..., "jobSpec": {...}}, {"workerPoolSpecs": [...]}, '
    'roles {"chief": {...}, "worker": {...}, "parameter_server": {...}, "evaluator": {...}}, '
    '{"trainingInput": {...}} of AI Platform, or a command, `gcloud ai custom-jobs create ...` or '
    '{"gcloud": "gcloud ai-platform jobs submit training ..."}',
    hints={"custom_job": "pass the value of customJob"},
)
