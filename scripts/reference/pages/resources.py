"""The pages of the resources: arguments, run options, outputs and the messages in the arguments."""

from __future__ import annotations

import ast
import functools
import inspect
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from scripts.reference import examples
from scripts.reference.markdown import (
    HEADER,
    REFERENCE,
    anchor,
    code,
    filled,
    items,
    linked,
    relative,
    value_entry,
    without_repeats,
)
from scripts.reference.pages import rules
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

_REPLACES, _IN_PLACE, _NOTHING, _RUNS, _NO_RUN = (
    *("replaces", "updated in place", "no effect on the resource", "reruns the job"),
    "no rerun",
)
_PARTS = "A change of an argument is a change of the parts that use it."
_USUAL = {
    _REPLACES: "A change replaces the resource, except where another effect is written.",
    _IN_PLACE: "A change updates the resource in place, except where another effect is written.",
    _RUNS: "A change [reruns the job]({rerun}), except where *no rerun* is written.",
    _NO_RUN: "A change does not rerun the job, except where *reruns the job* is written.",
}
"""The sentence about the effect that most arguments of a resource have; only the others are printed."""

EVERYWHERE = "In all resources"
"""The section of the index with the arguments that every resource has."""
_EVERYWHERE = ("project", "location", "opts")

_JOB_CHANGES = {
    **dict.fromkeys(("staging_bucket", "run_token", "stall_timeout", "project", "location"), "replaces"),
    "opts": "",
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

_WITH_SUMMARY = frozenset(
    {
        *("ParameterSpec", "DecayCurveAutomatedStoppingSpec", "MedianAutomatedStoppingSpec"),
        *("ConvexAutomatedStoppingSpec", "Probe", "ExecAction", "PredictSchemata", "CleanupCondition"),
    }
)
"""Messages of which the summary says more than their fields and the arguments that have them."""

Entry = tuple[str, str, str]
"""A name, its facts and its meaning, as `markdown.items` takes them."""

_HIDDEN = frozenset({"asked_by", "declared"})
"""Attributes that are for the package itself."""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each page."""
    known: dict[str, str] = {}
    for resource in RESOURCES:
        text = "\n\n".join(without_repeats(_page(resource).rstrip("\n").split("\n\n"), known))
        yield resource.page, f"{text}\n"
        for heading, name in (("## Arguments", resource.name), (f"### {Completion.__name__}", "")):
            part = text.partition(f"\n{heading}\n")[2].partition("\n#")[0]
            link = f"[{name or Completion.__name__}]({resource.page.name}#{anchor(heading.lstrip('# '))})"
            for line in part.split("\n"):
                if line.startswith("* `"):
                    known.setdefault(line, link)


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
        f"## Arguments\n\n{_arguments(declared, resource)}",
    ]
    if resource.runs:
        parts.append(_options(resource))
    if list(_outputs(resource)):
        parts.append(_output_list(resource))
    if results := _RESULTS.get(resource.name):
        parts.append("## Results\n")
        parts += [_result(resource, each) for each in results]
    below = list(messages_below(resource.spec)) if resource.spec else []
    messages = [message for message in below if _homes()[message] is resource]
    if messages:
        parts.append("## Messages\n")
        parts += [_message(message, resource) for message in messages]
    return "\n".join(parts)


def _arguments(arguments: Sequence[Argument], resource: Resource) -> str:
    listed = [one for one in arguments if one.name not in _EVERYWHERE]
    effects = {one.name: _effect(_change(one, resource), resource) for one in listed}
    has_effects = resource.effects is not None or resource.name in _STAGED
    usual = Counter(effects.values()).most_common(1)[0][0] if has_effects else ""
    intro = _usual(resource.page, usual) if has_effects else _PARTS
    entries = [
        value_entry(
            one.name,
            _type(one.field, resource) if one.field else annotation_in_words(one.annotation),
            default_of_argument(one),
            "" if effects[one.name] == usual else effects[one.name],
            _meaning(
                one.text,
                rules.links(resource.page, one.field.key if one.field else f"{resource.name}.{one.name}"),
            ),
        )
        for one in listed
    ]
    text = f"{filled(intro)}\n\n"
    shared = [one.name for one in arguments if one.name in _EVERYWHERE]
    return text + items(resource.page, entries) + _as_everywhere(resource, shared)


def _as_everywhere(resource: Resource, names: Iterable[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    index = relative(resource.page, REFERENCE / "index.md")
    return f"* {listed}: [as in all resources]({index}#{anchor(EVERYWHERE)})\n" if listed else ""


def _usual(page: Path, effect: str) -> str:
    """Return the sentence about the usual effect of a change."""
    rerun = relative(page, REFERENCE.parent / "guides" / "programs" / "rerun.md")
    return _USUAL.get(effect, f"A change: {effect}.").format(rerun=rerun)


def _effect(change: str, resource: Resource) -> str:
    """Return the effect of a change as it is printed; a job either runs again or does not."""
    if resource.runs:
        return {"replaces": _RUNS, "": ""}.get(change, _NO_RUN)
    return {"in place": _IN_PLACE, "nothing": _NOTHING}.get(change, change)


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


def _own(title: str, resource: Resource, entries: Sequence[Entry], of_first: Sequence[Entry]) -> str:
    """Return a list of the entries that CustomJob does not have, and a link to all others."""
    shared = [one for one in entries if resource.runs and resource is not _FIRST and one in of_first]
    own = [one for one in entries if one not in shared]
    parts = [items(resource.page, own)] if own else []
    if shared:
        names = f": {', '.join(one[0] for one in shared)}" if len(shared) < len(of_first) else ""
        link = f"[{title.lower()} of {_FIRST.name}]({_FIRST.page.name}#{title.lower()})"
        parts.append(f"{filled(f'As the {link}{names}.')}\n")
    return "\n".join(parts)


def _output_list(resource: Resource) -> str:
    return f"## Outputs\n\n{_own('Outputs', resource, _output_entries(resource), _output_entries(_FIRST))}"


def _output_entries(resource: Resource) -> list[Entry]:
    return [(f"`{name}`", "", linked(resource.page, text)) for name, text in _outputs(resource)]


def _options(resource: Resource) -> str:
    intro = "" if resource is not _FIRST else f"{_usual(resource.page, _NO_RUN)}\n\n"
    own = _own("Options", resource, _option_entries(resource), _option_entries(_FIRST))
    return f"## Options\n\n{intro}{own}{_as_everywhere(resource, _EVERYWHERE) if intro else ''}"


def _option_entries(resource: Resource) -> list[Entry]:
    return [
        value_entry(
            one.name,
            annotation_in_words(one.annotation),
            default_of_argument(one),
            _RUNS if _JOB_CHANGES.get(one.name) == "replaces" else "",
            _meaning(one.text, rules.links(resource.page, f"CustomJob.{one.name}")),
        )
        for one in arguments_of(resource.name)
        if one.is_option and (one.name not in _EVERYWHERE)
    ]


def _message(message: type, resource: Resource) -> str:
    args = ARGS_OF.get(message)
    title = args or message.__name__
    fields = list(fields_of(message).values())
    if same := _resource_with(fields):
        link = f"[{same.name}]({same.page.name}#arguments)"
        needed = {each.name for each in fields if default_of_field(args, each) == "required"}
        names = ", ".join(f"`{each.name}`{' (required)' * (each.name in needed)}" for each in fields)
        return f"### {title}\n\n{filled(f'As the arguments of {link}: {names}.')}\n"
    shared = [field for field in fields if field.key in _fields_of_jobs()]
    entries = [
        value_entry(
            field.name,
            _type(field, resource),
            default_of_field(args, field),
            "",
            _meaning(field.text, rules.links(resource.page, field.key)),
        )
        for field in fields
        if field not in shared
    ]
    parts = [f"### {title}\n"]
    if message.__name__ in _WITH_SUMMARY:
        parts.append(f"{summary_of(message)}\n")
    if entries:
        parts.append(items(resource.page, entries))
    if shared:
        names = ", ".join(f"`{field.name}`" for field in shared)
        link = f"[{_FIRST.name}]({_FIRST.page.name}#arguments)"
        parts.append(f"{filled(f'As the arguments of {link}: {names}.')}\n")
    return "\n".join(parts)


def _resource_with(fields: Sequence[Field]) -> Resource | None:
    """Return the resource, other than the first, whose arguments have all fields of a large message."""
    keys = {field.key for field in fields}
    found = (
        each
        for each in RESOURCES
        if each is not _FIRST and each.spec and keys <= {one.key for one in fields_of(each.spec).values()}
    )
    return next(found, None) if len(fields) >= _LARGE else None


_LARGE = 8
"""As many fields make a message large."""


@functools.cache
def _fields_of_jobs() -> Collection[str]:
    """Return the fields, as CLASS.FIELD, that are arguments of CustomJob, whose page describes them."""
    return frozenset(one.field.key for one in arguments_of(_FIRST.name) if one.field)


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
