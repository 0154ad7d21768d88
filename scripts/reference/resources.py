"""The pages of the resources: arguments, run options, outputs and the messages in the arguments."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pulumi_vertex_training.kinds.hyperparameter_tuning_job import resource as tuning_job
from pulumi_vertex_training.kinds.staged import provider as staged
from pulumi_vertex_training.kinds.staged_folder import provider as staged_folder
from pulumi_vertex_training.kinds.training_pipeline import resource as pipeline
from pulumi_vertex_training.program.results import Completion
from scripts.arguments.catalog import PACKAGE, RESOURCES, Resource
from scripts.arguments.messages import (
    Field,
    MissingDocumentationError,
    attribute_docstrings,
    class_node,
    fields_of,
    messages_below,
    summary_of,
)
from scripts.arguments.resources import Argument, arguments_of
from scripts.arguments.types import ARGS_OF, accepted
from scripts.reference import examples, rules
from scripts.reference.markdown import HEADER, code, filled, linked, table, value_row
from scripts.reference.signatures import a_class, is_public_property
from scripts.reference.types_in_words import (
    annotation_in_words,
    change_in_words,
    default_of_argument,
    default_of_field,
    hint_in_words,
)

_BASES = {
    "JobResource": PACKAGE / "program" / "job_resource.py",
    "EnvironmentValues": PACKAGE / "environment" / "values.py",
}
"""Classes whose attributes are outputs of the resources that inherit from them."""

_LEGEND = (
    "Each begins with its type, its default, and what a change does: it replaces the resource, is made\n"
    "in place, or does nothing. Instead of a class you can pass a dictionary.{rules}\n\n"
)
_RULES = " Rules are the checks of the argument before anything is sent."
_PARTS = "A change of an argument is a change of the parts that use it: their pages tell what it does.\n\n"

_JOB_CHANGES = {
    "staging_bucket": "replaces",
    "run_token": "replaces",
    "stall_timeout": "replaces",
    "project": "replaces",
    "location": "replaces",
    "opts": "",
    "adopt": "nothing",
}
"""Effects of the options of a job; any other option keeps the job."""

_CHANGES: Mapping[str, Mapping[str, str]] = {
    "": {
        "project": "replaces",
        "location": "replaces",
        "opts": "",
        **dict.fromkeys(
            ("adopt", "allow_unknown_types", "allow_legacy_types", "wait", "wait_timeout"), "nothing"
        ),
    },
    "CustomJob": {
        "persistent_resource": "replaces",
        **dict.fromkeys(("capacity", "capacity_limit"), "in place"),
    },
    "HyperparameterTuningJob": {"persistent_resource": "replaces"},
    "TrainingPipeline": {"persistent_resource": "replaces"},
    "PersistentResource": {"persistent_resource_id": "replaces", "reboot_token": "in place"},
    "Model": {"on_delete": "in place"},
    "TrainingSchedule": {"job": "in place"},
    "StagedFolder": {"on_delete": "in place"},
}
"""Effects of arguments that are no fields of a message, for all resources ("") and for one of them."""

_STAGED: Mapping[str, Collection[str]] = {
    "StagedFile": staged.REPLACING,
    "StagedPackage": staged.REPLACING,
    "StagedFolder": staged_folder.REPLACING,
}
"""Inputs whose change replaces a staged resource; all others change its content, or nothing."""

_RESULTS: Mapping[str, Sequence[type]] = {
    "CustomJob": (Completion,),
    "HyperparameterTuningJob": (tuning_job.TuningCompletion, tuning_job.TrialResult, tuning_job.BestTrial),
    "TrainingPipeline": (pipeline.PipelineCompletion,),
}
"""Types of the outputs that are dictionaries."""

_FIRST = next(each for each in RESOURCES if each.name == "CustomJob")
"""The resource whose page has the options and outputs that all jobs share."""

_HIDDEN = frozenset({"asked_by", "declared"})
"""Attributes that are for the package itself."""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each page."""
    for resource in RESOURCES:
        yield resource.page, _page(resource)


def summary(resource: Resource) -> str:
    """Return the first line of the documentation of a resource."""
    return _docstring(resource).split("\n")[0]


@functools.cache
def _homes() -> Mapping[type, Resource]:
    """Return the resource on whose page each message is: the first one that has it."""
    homes: dict[type, Resource] = {}
    for resource in RESOURCES:
        for message in messages_below(resource.spec) if resource.spec else ():
            homes.setdefault(message, resource)
    return homes


def _page(resource: Resource) -> str:
    arguments = arguments_of(resource.name)
    declared = [one for one in arguments if not (resource.runs and one.is_option)]
    text = linked(resource.page, _docstring(resource))
    parts = [
        f"{HEADER}# {resource.name}\n\n{text}\n",
        f"## Example\n\n{code(examples.of_resource(resource.name), 'python')}\n",
        f"## Arguments\n\n{_legend(resource)}{_arguments(declared, resource)}",
    ]
    if resource.runs:
        heads = ("option", "type, default; effect of a change")
        parts.append(_own("Options", resource, heads, _options))
    if list(_outputs(resource)):
        parts.append(_own("Outputs", resource, ("output", "meaning"), _output_rows))
    if results := _RESULTS.get(resource.name):
        parts.append("## Results\n")
        parts += [_result(resource, each) for each in results]
    below = list(messages_below(resource.spec)) if resource.spec else []
    messages = [message for message in below if _homes()[message] is resource]
    if messages:
        parts.append("## Messages\n")
        parts += [_message(message, resource) for message in messages]
    return "\n".join(parts)


def _legend(resource: Resource) -> str:
    if resource.effects is None and resource.name not in _STAGED:
        return _PARTS  # a component
    return _LEGEND.format(rules=_RULES if resource.effects is not None else "")


def _arguments(arguments: Sequence[Argument], resource: Resource) -> str:
    rows = [
        value_row(
            one.name,
            _type(one.field, resource) if one.field else annotation_in_words(one.annotation),
            default_of_argument(one),
            _change(one, resource),
            _meaning(
                one.text,
                rules.links(resource.page, one.field.key if one.field else f"{resource.name}.{one.name}"),
            ),
        )
        for one in arguments
    ]
    return table(resource.page, ("argument", "type, default; effect of a change"), rows)


def _meaning(text: str, links: str) -> str:
    """Return the text of an argument with its rules, which make a column of their own too wide."""
    return f"{text} Rules: {links}" if links else text


def _change(one: Argument, resource: Resource) -> str:
    """Return the effect of a change of an argument. Raises MissingDocumentationError if none is declared."""
    own = {**_CHANGES[""], **_CHANGES.get(resource.name, {})}
    if resource.name in _STAGED:
        return _change_of_staged(one.name, _STAGED[resource.name], own)
    if resource.effects is None:
        return ""
    if one.field is not None:
        return change_in_words(one.name, resource.effects)
    if one.name not in own:
        raise MissingDocumentationError(f"{resource.name}.{one.name}: _CHANGES has no effect of a change.")
    return own[one.name]


def _change_of_staged(name: str, replacing: Collection[str], own: Mapping[str, str]) -> str:
    if name in ("project", "location"):
        return "nothing"
    named = name == "prefix" and "object_name" in replacing
    return "replaces" if named or name in replacing else own.get(name, "replaces if the content differs")


def _own(
    title: str,
    resource: Resource,
    heads: tuple[str, ...],
    rows_of: Callable[[Resource], list[tuple[str, ...]]],
) -> str:
    """Return a section with the rows that differ from those of CustomJob, and a link to all others."""
    rows = rows_of(resource)
    shared = [row for row in rows if resource.runs and resource is not _FIRST and row in rows_of(_FIRST)]
    own = [row for row in rows if row not in shared]
    parts = [f"## {title}\n"]
    if own:
        parts.append(table(resource.page, heads, own))
    if shared:
        names = ", ".join(row[0] for row in shared)
        link = f"[{title.lower()} of {_FIRST.name}]({_FIRST.page.name}#{title.lower()})"
        parts.append(f"{filled(f'These are the {link}: {names}.')}\n")
    return "\n".join(parts)


def _output_rows(resource: Resource) -> list[tuple[str, ...]]:
    return [(f"`{name}`", linked(resource.page, text)) for name, text in _outputs(resource)]


def _options(resource: Resource) -> list[tuple[str, ...]]:
    return [
        value_row(
            one.name,
            annotation_in_words(one.annotation),
            default_of_argument(one),
            _JOB_CHANGES.get(one.name, "keeps the job"),
            _meaning(one.text, rules.links(resource.page, f"CustomJob.{one.name}")),
        )
        for one in arguments_of(resource.name)
        if one.is_option
    ]


def _message(message: type, resource: Resource) -> str:
    args = ARGS_OF.get(message)
    rows = [
        value_row(
            field.name,
            _type(field, resource),
            default_of_field(args, field),
            "",
            _meaning(field.text, rules.links(resource.page, field.key)),
        )
        for field in fields_of(message).values()
    ]
    body = table(resource.page, ("field", "type, default"), rows)
    return f"### {args or message.__name__}\n\n{summary_of(message)}\n\n{body}"


def _type(field: Field, resource: Resource) -> str:
    special = accepted(field)
    if field.message is None or (special and "WorkerPool" not in special and "Mapping" not in special):
        return annotation_in_words(special) if special else hint_in_words(field.hint, "")
    home = _homes().get(field.message)
    if home is None:
        raise MissingDocumentationError(f"{field.message.__name__} is on no page.")
    name = ARGS_OF.get(field.message, field.message.__name__)
    name = field.message.__name__ if special and "Mapping" in special else name
    anchor = ARGS_OF.get(field.message, field.message.__name__).lower()
    link = f"[{name}]({'' if home is resource else home.page.name}#{anchor})"
    return hint_in_words(field.hint, link)


def _result(resource: Resource, value: type) -> str:
    return f"### {value.__name__}\n\n" + "\n\n".join(a_class(resource.page, "", value, level=4)) + "\n"


def _docstring(resource: Resource) -> str:
    node = class_node(resource.module.read_text(), resource.name)
    return inspect.cleandoc(ast.get_docstring(node) or "")


def _outputs(resource: Resource) -> Iterator[tuple[str, str]]:
    """Yield the outputs of a resource with their documentation."""
    nodes = [class_node(resource.module.read_text(), resource.name)]
    bases = [ast.unparse(base) for base in nodes[0].bases]
    nodes += [class_node(path.read_text(), name) for name, path in _BASES.items() if name in bases]
    found: dict[str, str] = {}
    for node in nodes:
        texts = dict(attribute_docstrings(node))
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and "ClassVar" not in ast.unparse(item.annotation):
                name = ast.unparse(item.target)
                if name not in _HIDDEN:
                    if name not in texts:
                        raise MissingDocumentationError(f"{node.name}.{name} has no docstring below it.")
                    found.setdefault(name, texts[name])
            elif isinstance(item, ast.FunctionDef) and is_public_property(item):
                found.setdefault(item.name, " ".join((ast.get_docstring(item) or "").split()))
    yield from found.items()
