"""Types, defaults and effects of arguments as the tables of the reference show them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from pulumi_vertex_training.core import waiting
from pulumi_vertex_training.program.arguments.run_options import DEFAULT_WAIT_TIMEOUT
from pulumi_vertex_training.runs.policies.deletion_policy import DEFAULT_KEEP_RUNS
from pulumi_vertex_training.runs.policies.rerun import DEFAULT_CLIMB_LIMIT, DEFAULT_LIMIT
from scripts.arguments.catalog import RESOURCES
from scripts.arguments.classes import default_of
from scripts.arguments.messages import Field
from scripts.arguments.resources import Argument
from vertex_training.fields.effects import Effect, FieldTable, effect_of

_EFFECTS = {Effect.REPLACE: "replaces", Effect.UPDATE: "in place", Effect.NONE: "nothing"}

WORDS = {
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
    "WorkerPool": "[WorkerPoolSpecArgs](../resources/CustomJob.md#workerpoolspecargs)",
    "Wait": '`"none"`, `"running"` or `"done"`',
    "NotificationsLike": "NotificationArgs or dictionary, or a list of these",
    "OnInterrupt": '`"leave"` or `"cancel"`',
    **{resource.name: f"[{resource.name}]({resource.name}.md)" for resource in RESOURCES},
}
"""Types as a list names them, with links from a page in resources/."""

_CONSTANTS = {
    "DEFAULT_CLIMB_LIMIT": DEFAULT_CLIMB_LIMIT,
    "DEFAULT_KEEP_RUNS": DEFAULT_KEEP_RUNS,
    "DEFAULT_LIMIT": DEFAULT_LIMIT,
    "DEFAULT_WAIT_TIMEOUT": DEFAULT_WAIT_TIMEOUT,
    "DEFAULT_TIMEOUT": waiting.DEFAULT_TIMEOUT,
}
"""The values of the names that defaults of signatures have."""


def change_in_words(path: str, effects: FieldTable) -> str:
    """Return the effect of a change of a field; for a message, it names fields whose effect differs."""
    below = {entry.effect for known, entry in effects.items() if known.startswith((f"{path}.", f"{path}[]"))}
    below.discard(Effect.SERVER)
    if len(below) > 1:
        updated = ", ".join(
            f"`{known.removeprefix(path).lstrip('[].')}`"
            for known, entry in effects.items()
            if known.startswith((f"{path}.", f"{path}[]")) and entry.effect is Effect.UPDATE
        )
        return f"{updated} is updated in place"
    return _EFFECTS[effect_of(path, effects).effect]


def default_of_argument(one: Argument) -> str:
    """Return the default of an argument, "required" without one, "" if it declares nothing."""
    if one.field is not None and one.default == "None":
        return _shown(one.field.default)
    if one.default is None:
        return "required"
    return "" if one.default == "None" else f"`{_CONSTANTS.get(one.default, one.default)}`"


def default_of_field(args: str | None, field: Field) -> str:
    """Return the default of a field of a message; `args` is the argument class of the message, or None."""
    default = ("None" if not field.is_required else None) if args is None else default_of(args, field)
    if default is None:
        return "required"
    return _shown(field.default) if default == "None" else f"`{default}`"


def _shown(default: Any) -> str:
    """Return a default of a field, "" for one that means that nothing is declared."""
    if default is True or default is False or (default and not isinstance(default, (type, Mapping))):
        return (
            f"`{list(default) if isinstance(default, tuple) else default!r}`"
            if isinstance(default, (bool, int, float, str, tuple))
            else ""
        )
    return ""


def hint_in_words(hint: Any, link: str) -> str:
    """Return the type of a field in words; `link` stands for the message in it."""
    origin = get_origin(hint)
    if origin is Literal:
        return " or ".join(f'`"{value}"`' for value in get_args(hint))
    if origin is tuple:
        return f"list of {hint_in_words(get_args(hint)[0], link)}"
    if origin is not None:
        return f"map of {hint_in_words(get_args(hint)[1], link)}"
    return WORDS.get(hint.__name__, link)


def annotation_in_words(annotation: str) -> str:
    """Return a type that is written in Python in words."""
    return _read(ast.parse(annotation.replace("pulumi.", ""), mode="eval").body)


def _read(node: ast.expr) -> str:
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
    return "" if text == "None" else WORDS.get(text, text)
