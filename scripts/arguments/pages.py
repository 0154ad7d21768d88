"""Write the pages of the reference."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pulumi_vertex_training.kinds.persistent_resource import readiness
from pulumi_vertex_training.program.arguments.run_options import DEFAULT_WAIT_TIMEOUT
from pulumi_vertex_training.runs.policies.deletion_policy import DEFAULT_KEEP_RUNS
from pulumi_vertex_training.runs.policies.rerun import DEFAULT_LIMIT
from scripts.arguments.catalog import PACKAGE, PAGES, RESOURCES, Resource
from scripts.arguments.classes import default_of
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
from vertex_training.fields.effects import Effect, FieldTable, effect_of

_HEADER = "<!-- Written by `make generate` from the code: do not edit. -->\n\n"

_EFFECTS = {Effect.REPLACE: "replaces", Effect.UPDATE: "in place", Effect.NONE: "nothing"}

_WORDS = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "Any": "JSON value",
    "ImageLike": "image or its name",
    "BucketLike": "bucket or its name",
    "RepositoryLike": "repository or its address",
    "ServiceAccountLike": "service account or its address",
    "ResourceOptions": "`pulumi.ResourceOptions`",
    "WorkerPool": "[WorkerPoolSpecArgs](CustomJob.md#workerpoolspecargs)",
    "Wait": '`"none"`, `"running"` or `"done"`',
    "NotificationsLike": "NotificationArgs or dictionary, or a list of these",
    "OnInterrupt": '`"leave"` or `"cancel"`',
    **{resource.name: f"[{resource.name}]({resource.name}.md)" for resource in RESOURCES},
}

_JOB_RESOURCE = PACKAGE / "program" / "job_resource.py"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each page."""
    homes = _homes()
    yield PAGES / "README.md", _index()
    for resource in RESOURCES:
        yield resource.page, _page(resource, homes)


def _homes() -> Mapping[type, Resource]:
    """Return the resource on whose page each message is: the first one that has it."""
    homes: dict[type, Resource] = {}
    for resource in RESOURCES:
        for message in messages_below(resource.spec) if resource.spec else ():
            homes.setdefault(message, resource)
    return homes


def _index() -> str:
    rows = "".join(
        f"| [{resource.name}]({resource.page.name}) | {_cell(_prose(resource).split(chr(10))[0])} |\n"
        for resource in RESOURCES
    )
    return (
        f"{_HEADER}# Reference of arguments\n\nEvery argument of every resource, the fields of the messages\n"
        "in them, and the outputs. `help(vt.CustomJob)` and an editor show the same.\n\n"
        f"| resource | declares |\n| --- | --- |\n{rows}"
    )


def _page(resource: Resource, homes: Mapping[type, Resource]) -> str:
    arguments = arguments_of(resource.name)
    declared = [one for one in arguments if not (resource.runs and one.is_option)]
    parts = [
        f"{_HEADER}# {resource.name}\n\n{_prose(resource)}\n",
        f"## Arguments\n\n{_LEGEND if resource.effects else ''}" + _arguments(declared, resource, homes),
    ]
    if resource.runs:
        chosen = [one for one in arguments if one.is_option]
        parts.append(
            "## Options\n\n"
            + _table(
                ("option", "type", "default", "a change", "meaning"),
                [
                    (
                        f"`{one.name}`",
                        _written(one),
                        _default(one),
                        _OTHER_CHANGES.get(one.name, "keeps the job"),
                        one.text,
                    )
                    for one in chosen
                ],
            )
        )
    if outputs := list(_outputs(resource)):
        rows = [(f"`{name}`", text) for name, text in outputs]
        parts.append("## Outputs\n\n" + _table(("output", "meaning"), rows))
    below = list(messages_below(resource.spec)) if resource.spec else []
    messages = [message for message in below if homes[message] is resource]
    if messages:
        parts.append("## Messages\n")
        parts += [_message(message, resource, homes) for message in messages]
    return "\n".join(parts)


_LEGEND = (
    "A change of an argument replaces the resource, is made in place, or does nothing. Instead of a class\n"
    "you can pass a dictionary.\n\n"
)


_OTHER_CHANGES = {
    "persistent_resource": "replaces",
    "persistent_resource_id": "replaces",
    "reboot_token": "in place",
    "staging_bucket": "replaces",
    "run_token": "replaces",
    "project": "replaces",
    "location": "replaces",
    "opts": "",
    "adopt": "",
}
"""Effects of arguments that are not fields of a message; any other option of a job keeps the job."""


def _arguments(arguments: list[Argument], resource: Resource, homes: Mapping[type, Resource]) -> str:
    if resource.effects is None:
        return _table(
            ("argument", "type", "default", "meaning"),
            [(f"`{one.name}`", _written(one), _default(one), one.text) for one in arguments],
        )
    return _table(
        ("argument", "type", "default", "a change", "meaning"),
        [
            (
                f"`{one.name}`",
                _type(one.field, resource, homes) if one.field else _written(one),
                _default(one),
                _change(one.name, resource.effects) if one.field else _OTHER_CHANGES.get(one.name, ""),
                one.text,
            )
            for one in arguments
        ],
    )


def _message(message: type, resource: Resource, homes: Mapping[type, Resource]) -> str:
    args = ARGS_OF.get(message)
    rows = [
        (
            f"`{field.name}`",
            _type(field, resource, homes),
            _default_of_field(args, field),
            field.text,
        )
        for field in fields_of(message).values()
    ]
    table = _table(("field", "type", "default", "meaning"), rows)
    return f"### {args or message.__name__}\n\n{summary_of(message)}\n\n{table}"


def _default_of_field(args: str | None, field: Field) -> str:
    default = ("None" if not field.is_required else None) if args is None else default_of(args, field)
    if default is None:
        return "required"
    return _shown(field.default) if default == "None" else f"`{default}`"


def _change(path: str, effects: FieldTable) -> str:
    """Return the effect of a change of a field; that of a message depends on its fields if they differ."""
    below = {entry.effect for known, entry in effects.items() if known.startswith((f"{path}.", f"{path}[]"))}
    below.discard(Effect.SERVER)
    if len(below) > 1:
        return (
            "depends on the field: "
            + ", ".join(
                f"`{known.removeprefix(path).lstrip('[].')}` {_EFFECTS[entry.effect]}"
                for known, entry in effects.items()
                if known.startswith((f"{path}.", f"{path}[]")) and entry.effect is Effect.UPDATE
            )
            + "; any other replaces"
        )
    return _EFFECTS[effect_of(path, effects).effect]


def _default(one: Argument) -> str:
    if one.field is not None and one.default == "None":
        return _shown(one.field.default)
    if one.default is None:
        return "required"
    return "" if one.default == "None" else f"`{_CONSTANTS.get(one.default, one.default)}`"


_CONSTANTS = {
    "DEFAULT_KEEP_RUNS": DEFAULT_KEEP_RUNS,
    "DEFAULT_LIMIT": DEFAULT_LIMIT,
    "DEFAULT_WAIT_TIMEOUT": DEFAULT_WAIT_TIMEOUT,
    "readiness.DEFAULT_TIMEOUT": readiness.DEFAULT_TIMEOUT,
}
"""The values of the names that defaults of signatures have."""


def _shown(default: Any) -> str:
    """Return a default of a field, "" for one that means that nothing is declared."""
    if default is True or default is False or (default and not isinstance(default, (type, Mapping))):
        return f"`{list(default) if isinstance(default, tuple) else default!r}`" if _is_value(default) else ""
    return ""


def _is_value(default: Any) -> bool:
    return isinstance(default, (bool, int, float, str, tuple))


def _type(field: Field, resource: Resource, homes: Mapping[type, Resource]) -> str:
    special = accepted(field)
    if field.message is None or (special and "WorkerPool" not in special and "Mapping" not in special):
        return _annotation(special) if special else _hint(field.hint, "")
    if field.message in homes:
        home = homes[field.message]
        name = ARGS_OF.get(field.message, field.message.__name__)
        name = field.message.__name__ if special and "Mapping" in special else name
        anchor = ARGS_OF.get(field.message, field.message.__name__).lower()
        link = f"[{name}]({'' if home is resource else home.page.name}#{anchor})"
        return _hint(field.hint, link)
    raise MissingDocumentationError(f"{field.message.__name__} is on no page.")


def _hint(hint: Any, link: str) -> str:
    origin = get_origin(hint)
    if origin is Literal:
        return " or ".join(f'`"{value}"`' for value in get_args(hint))
    if origin is tuple:
        return f"list of {_hint(get_args(hint)[0], link)}"
    if origin is not None:
        return f"map of {_hint(get_args(hint)[1], link)}"
    return _WORDS.get(hint.__name__, link)


def _written(one: Argument) -> str:
    return _annotation(one.annotation)


def _annotation(annotation: str) -> str:
    return _read(ast.parse(annotation.replace("pulumi.", ""), mode="eval").body)


def _read(node: ast.expr) -> str:
    """Return a type that is written in Python in words."""
    if isinstance(node, ast.BinOp):
        sides = [_read(side) for side in (node.left, node.right)]
        return " or ".join(dict.fromkeys(side for side in sides if side))
    if isinstance(node, ast.Subscript):
        kind = ast.unparse(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if kind == "Literal":
            return " or ".join(f'`"{ast.literal_eval(value)}"`' for value in inner)
        if kind == "Mapping":
            value = _read(inner[1])
            return "dictionary" if value == "JSON value" else f"map of {value}"
        return f"list of {_read(inner[0])}" if kind == "Sequence" else _read(inner[0])
    text = ast.unparse(node)
    return "" if text == "None" else _WORDS.get(text, text)


def _prose(resource: Resource) -> str:
    node = class_node(resource.module.read_text(), resource.name)
    return _linked(inspect.cleandoc(ast.get_docstring(node) or ""))


_HIDDEN = frozenset({"asked_by", "declared"})
"""Attributes that are for the package itself."""


def _outputs(resource: Resource) -> Iterator[tuple[str, str]]:
    """Yield the outputs of a resource with their documentation."""
    nodes = [class_node(resource.module.read_text(), resource.name)]
    if resource.runs:
        nodes.append(class_node(_JOB_RESOURCE.read_text(), "JobResource"))
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
            elif isinstance(item, ast.FunctionDef) and any(
                ast.unparse(each) == "property" for each in item.decorator_list
            ):
                found.setdefault(item.name, " ".join((ast.get_docstring(item) or "").split()))
    yield from found.items()


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return _linked(text).replace("|", "\\|").replace("<", "&lt;")


def _linked(text: str) -> str:
    """Make links of the pages that a text names."""
    return re.sub(r"\bdocs/([\w-]+\.md)", r"[\1](../\1)", text)
