"""Documents that describe a training job, in every form that people have them.

The forms: worker pools, a whole custom job, roles, a training input of legacy AI Platform, and the command
that submitted one. Each becomes a custom job in normal form, with findings that name what was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from vertex_training.specs import document_hints
from vertex_training.specs.ai_platform import gcloud_flags
from vertex_training.specs.ai_platform.conversion import convert
from vertex_training.specs.ai_platform.job_document import read_job_document
from vertex_training.specs.ai_platform.training_input import TrainingInput, read_job
from vertex_training.specs.custom_job import CustomJobSpec, normalise
from vertex_training.specs.custom_job_rules import validate
from vertex_training.specs.decode import decode
from vertex_training.specs.hints import snake_case
from vertex_training.specs.origins import Origins, as_written
from vertex_training.specs.reduction import fill_in
from vertex_training.specs.role_pools import POSITIONS, misnamed, read_roles
from vertex_training.specs.values import kind
from vertex_training.topology import options as check_options
from vertex_training.topology.options import CheckOptions
from vertex_training.topology.problems import Problem, known
from vertex_training.topology.reduction_servers import Sizing
from vertex_training.topology.rules import Rule
from vertex_training.topology.words import all_of, nearest

Form = Literal["job", "pools", "roles", "training_input"]

POOLS_KEY, JOB_KEY, LEGACY_KEY = "worker_pool_specs", "job_spec", "training_input"

ONE_FORM = Rule(
    name="document-form",
    says="a document describes one job in one form",
    source="ours: it is read as one job",
)

_FORMS = (
    'write {"workerPoolSpecs": [...]}, a whole CustomJob {"displayName": ..., "jobSpec": {...}}, roles '
    '{"chief": {...}, "worker": {...}, "server": {...}, "evaluator": {...}}, {"trainingInput": {...}} of AI '
    'Platform, or {"gcloud": "gcloud ai-platform jobs submit training ..."}'
)
_REGIONS = ("region", "location")
_NAME = re.compile(r"projects/[^/]+/locations/([^/]+)/customJobs/[^/]+")


@dataclass(frozen=True, kw_only=True)
class Document:
    """What a document says.

    `spec` is in normal form and there beside errors too, with placeholders for what could not be read; None
    when there is nothing to read at all. Its display name is "" where the form has none. `problems` has every
    finding, with the paths of the document. `sizing` is the arithmetic behind reduction servers that were
    asked for as "auto". `location` is the region that was given, else that of the job.

    `damaged` holds the paths of `spec`, as the API has them, whose values are not what was meant: they could
    not be read, are not known, or were declared twice. "worker_pool_specs[1].replica_count", for example, or
    "worker_pool_specs[1]" for a whole pool, "" for the whole job.
    """

    form: Form
    spec: CustomJobSpec | None
    problems: tuple[Problem, ...] = ()
    sizing: Sizing | None = None
    training_input: TrainingInput | None = None
    location: str | None = None
    damaged: frozenset[str] = frozenset()


def read_document(value: object, *, options: CheckOptions = check_options.DEFAULT) -> Document:
    """Read and check plain values, as JSON or YAML give them, in any form. Never raises.

    Fields that only the service sets are passed over, so that its answers can be read as well, and so are
    keys that begin with "x-", which hold anchors of YAML. The JSON of `explain` is read as its job.
    """
    if not isinstance(value, Mapping):
        return _nothing("pools", f"{document_hints.hint_about_scalar(value)}; {_FORMS}")
    value = {key: item for key, item in value.items() if not (isinstance(key, str) and key.startswith("x-"))}
    answer = document_hints.explained(value)
    if answer is not None:
        value = answer
        options = replace(options, with_tasks=options.with_tasks and document_hints.has_a_task(answer))
    names = {snake_case(key): key for key in value if isinstance(key, str) and value[key] is not None}
    forms = {
        "worker pools": _first(names, (POOLS_KEY,)),
        "a custom job": _first(names, (JOB_KEY,)),
        "roles": _first(names, POSITIONS),
        "a training input": _first(names, (LEGACY_KEY, gcloud_flags.KEY)),
    }
    given = {form: key for form, key in forms.items() if key is not None}
    if len(given) > 1:
        keys = [f"{form} ({key})" for form, key in given.items()]
        return _nothing("pools", f"the document mixes {all_of(keys)}; keep one form")
    if not given:
        about = document_hints.hint_about(value) or _hint([str(key) for key in value]) + _FORMS
        return _nothing("pools", f"no job is described here; {about}")
    (form,) = given
    read = {"roles": _of_roles, "a training input": _of_training_input}.get(form, _of_job)
    return read(value, options)


def _first(names: Mapping[str, str], wanted: Iterable[str]) -> str | None:
    """The key of a document that is one of `wanted`, as it is written there."""
    return next((names[name] for name in wanted if name in names), None)


def _hint(keys: Iterable[str]) -> str:
    words = (POOLS_KEY, JOB_KEY, LEGACY_KEY, gcloud_flags.KEY, *POSITIONS)
    found = (misnamed(snake_case(key)) or nearest(snake_case(key), words, count=1) for key in keys)
    hint = next((hint for hint in found if hint), "")
    return f"{hint} Or " if hint else ""


def _nothing(form: Form, message: str) -> Document:
    return _unread(form, (ONE_FORM.broken("", message),))


def _unread(form: Form, problems: tuple[Problem, ...]) -> Document:
    return Document(form=form, spec=None, problems=problems, damaged=frozenset({""}))


def _of_job(value: Mapping[Any, object], options: CheckOptions) -> Document:
    """Worker pools with or without other fields of a job, or the API's nesting of them."""
    outer, problems = _without_region(_without_output(value))
    nested = next((key for key in outer if _name(key) == JOB_KEY), None)
    fields = dict(outer)
    if nested is not None:
        inner = fields.pop(nested)
        if not isinstance(inner, Mapping):
            message = f"expected a mapping with worker_pool_specs, got {kind(inner)}"
            return _unread("job", (Problem(path=JOB_KEY, message=message),))
        beside = {_name(key) for key in fields}
        for key, item in inner.items():
            if _name(key) in beside and item is not None:
                message = "is given in job_spec and beside it; keep one"
                problems.append(Problem(path=_name(key), message=message))
            else:
                fields[key] = item
    named = nested is not None or any(_name(key) == "display_name" for key in fields)
    document = _checked(
        fields,
        form="job" if named else "pools",
        options=replace(options, location=options.location or _location(value)),
        needs_name=named,
    )
    twice = frozenset(problem.path for problem in problems if problem.path not in _REGIONS)
    return replace(document, problems=(*problems, *document.problems), damaged=document.damaged | twice)


def _of_roles(value: Mapping[Any, object], options: CheckOptions) -> Document:
    location = options.location or _location(value)
    fields, wrong = _without_region(_without_output(value))
    read = read_roles(fields, location=location)
    document = _checked(
        read.fields,
        form="roles",
        options=replace(options, location=location, with_tasks=options.with_tasks and read.with_tasks),
        origins=read.origins,
        needs_name=any(_name(key) == "display_name" for key in value),
    )
    return replace(
        document,
        problems=(*wrong, *read.problems, *document.problems),
        damaged=document.damaged | read.damaged,
    )


def _checked(
    fields: Mapping[Any, object],
    *,
    form: Form,
    options: CheckOptions,
    needs_name: bool,
    origins: Origins | None = None,
) -> Document:
    """Decode, normalise and check the fields of a job; without a name of its own its name is not judged."""
    named = dict(fields) if needs_name else {"display_name": "", **fields}
    filled = fill_in(named, location=options.location)
    check = _without_name(options) if not needs_name else _all_rules(options)
    decoded = decode(CustomJobSpec, filled.value).then(normalise, check)
    return Document(
        form=form,
        spec=decoded.draft,
        problems=as_written((*filled.problems, *decoded.problems), origins or {}),
        sizing=filled.sizing,
        location=options.location,
        damaged=decoded.unknown | decoded.damaged,
    )


def _all_rules(options: CheckOptions) -> Callable[[CustomJobSpec], list[Problem]]:
    return lambda spec: validate(spec, options=options)


def _without_name(options: CheckOptions) -> Callable[[CustomJobSpec], list[Problem]]:
    """The rules of a job but for its display name, which the form does not have."""
    return lambda spec: [p for p in validate(spec, options=options) if p.path != "display_name"]


def _of_training_input(value: Mapping[Any, object], options: CheckOptions) -> Document:
    document = read_job_document(value)
    if document.job is None:
        return _unread("training_input", document.problems)
    decoded = read_job(document.job)
    if decoded.draft is None:
        return _unread("training_input", document.as_written((*document.problems, *decoded.problems)))
    given = decoded.draft.training_input
    unread = decoded.unknown | decoded.damaged | document.unread
    region = None if "training_input.region" in unread else given.region
    location = options.location or region or None
    conversion = convert(decoded.draft, location=location, unread=unread)
    check = replace(options, location=location, with_tasks=options.with_tasks and conversion.with_tasks)
    rules = _all_rules(check) if decoded.draft.job_id is not None else _without_name(check)
    converted = as_written(rules(conversion.spec), conversion.origins)
    found = (
        *document.problems,
        *decoded.problems,
        *conversion.problems,
        *known(converted, conversion.wrong),
    )
    return Document(
        form="training_input",
        spec=normalise(conversion.spec),
        problems=document.as_written(found),
        training_input=given,
        location=location,
        damaged=conversion.damaged,
    )


def _without_output(value: Mapping[Any, object]) -> dict[Any, object]:
    owned = {*CustomJobSpec.SERVER_OWNED, "etag"}
    return {key: item for key, item in value.items() if _name(key) not in owned}


def _without_region(value: Mapping[Any, object]) -> tuple[dict[Any, object], list[Problem]]:
    """The fields without a region among them, which no job has, and a finding where there is one."""
    problems = [
        Problem(
            path=_name(key),
            message="is no field of a job, which runs where it is submitted; use --location instead",
        )
        for key, item in value.items()
        if _name(key) in _REGIONS and item is not None
    ]
    return {key: item for key, item in value.items() if _name(key) not in _REGIONS}, problems


def _location(value: Mapping[Any, object]) -> str | None:
    """The region in the name of a job that the service answered."""
    name = next((item for key, item in value.items() if _name(key) == "name"), None)
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    return match.group(1) if match else None


def _name(key: object) -> str:
    return snake_case(key) if isinstance(key, str) else ""
