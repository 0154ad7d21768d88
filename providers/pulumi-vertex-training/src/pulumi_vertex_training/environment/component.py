"""`TrainingEnvironment` as a component of the package."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Sequence
from typing import Any, get_args, get_origin

import pulumi

from pulumi_vertex_training.environment import options
from pulumi_vertex_training.environment.resource import TrainingEnvironment
from pulumi_vertex_training.environment.values import OPTIONAL, REQUIRED
from pulumi_vertex_training.program.construction import Component

_ACCOUNTS = ("replica_account", "deployer_account", "planner_account", "scheduler_account")
_MADE_OR_NAMED = ("network", "encryption_key", "log_bucket")


def _known(hint: object) -> Any:
    """Return the type of a known value: `str` for `pulumi.Input[str] | None`."""
    arguments = get_args(hint)
    if get_origin(hint) is Sequence:
        element = _known(arguments[0])
        return types.GenericAlias(tuple, (str if element is Any else element, ...))
    return _known(arguments[0]) if arguments else hint


def _message(settings: type) -> type:
    """Return settings of a part as a message, whose fields have known values."""
    hints = typing.get_type_hints(settings, localns={**vars(pulumi), "T": Any})
    fields = [
        (item.name, _known(hints[item.name]), dataclasses.field(default=item.default))
        for item in dataclasses.fields(settings)
    ]
    name = f"Environment{settings.__name__.removesuffix('Args')}"
    message = dataclasses.make_dataclass(name, fields, kw_only=True)
    message.__doc__ = settings.__doc__
    return message


COMPONENT = Component(
    made=TrainingEnvironment,
    hints={
        "services": tuple[str, ...],
        **dict.fromkeys(_ACCOUNTS, str),
        "grant_roles": bool,
        "deployers": tuple[str, ...],
        "state_bucket": str,
        **{name: _message(settings) for name, settings in options.SETTINGS.items()},
        **dict.fromkeys(("tensorboard", "project", "location"), str),
    },
    parts={
        "bucket": "StagingBucket",
        "repository": "ImageRepository",
        "persistent_resource": "PersistentResource",
    },
    needed={"persistent_resource": ("resource_pools",)},
    otherwise={
        "services": ("boolean",),
        **dict.fromkeys((*_ACCOUNTS, "tensorboard"), ("boolean",)),
        **dict.fromkeys(_MADE_OR_NAMED, ("string", "boolean")),
        **dict.fromkeys(("bucket", "repository", "persistent_resource"), ("string",)),
    },
    outputs={
        name: tuple[str, ...] if name == "notification_channels" else str for name in (*REQUIRED, *OPTIONAL)
    },
    always=(*REQUIRED, "notification_channels"),
)
