"""The types of arguments: what a program may give for a field of a message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from scripts.arguments.catalog import ARGS_MODULES
from scripts.arguments.messages import Field

ARGS_OF: Mapping[type, str] = {
    message: name for classes in ARGS_MODULES.values() for name, message in classes.items()
}
"""The name of the argument class of each message."""

_ACCEPTED: Mapping[str, str] = {
    "WorkerPoolSpec.replica_count": 'Input[int] | Literal["auto"]',
    "ContainerSpec.image_uri": "ImageLike",
    "PythonPackageSpec.executor_image_uri": "ImageLike",
    "ModelContainerSpec.image_uri": "ImageLike",
    "ModelContainerSpec.ports": "Input[Sequence[Input[int]]]",
    "ModelContainerSpec.grpc_ports": "Input[Sequence[Input[int]]]",
    "ModelSpec.metadata": "Input[Any]",
    "JobSpec.worker_pool_specs": "Input[Sequence[Input[WorkerPool]]]",
    "JobSpec.service_account": "ServiceAccountLike",
    "ScheduleSettings.service_account": "ServiceAccountLike",
    "JobSpec.persistent_resource_id": "PersistentResource | Input[str]",
    "Notification.pubsub_topic": "TopicLike",
    "Notification.channel": "ChannelLike",
    "TrainingPipelineSpec.custom_task": "Input[Mapping[str, Any]]",
    "TrainingPipelineSpec.tuning_task": "Input[Mapping[str, Any]]",
    "TrainingPipelineSpec.parent_model": "Model | Input[str]",
    "RegisteredModelSpec.parent_model": "Model | Input[str]",
    "TrainingImageSpec.repository": "RepositoryLike",
    "TrainingImageSpec.base_image": "ImageLike",
    "TrainingImageSpec.build_bucket": "BucketLike",
    "Rung.staging_bucket": "BucketLike",
}
"""Fields for which a program may give more than the field's own type, or another form of it."""

_PLAIN = {str: "str", int: "int", float: "float", bool: "bool"}


def accepted(field: Field) -> str | None:
    """Return the special type of a field's argument, or None if it follows from the field's type."""
    return _ACCEPTED.get(field.key)


def in_class(field: Field) -> str:
    """Return the type of a field's argument in an argument class, without None."""
    return _ACCEPTED.get(field.key) or _input(field.hint, or_dictionary=False)


def in_resource(field: Field) -> str:
    """Return the type of a field's argument of a resource, which accepts dictionaries, without None."""
    return qualified(_ACCEPTED.get(field.key) or _input(field.hint, or_dictionary=True))


def optional(annotation: str, field: Field) -> str:
    """Return the type of an argument that may be left out.

    Like an argument of pulumi_gcp, it also takes an output of None, unless the message needs the field.
    """
    prefix, bracket, inner = annotation.partition("[")
    if not field.is_required and bracket and prefix in ("Input", "pulumi.Input") and _is_one(inner):
        return f"{prefix}[{inner[:-1]} | None]"
    return f"{annotation} | None"


def _is_one(inner: str) -> bool:
    """Return whether the rest of a type, after a bracket, ends with the bracket that closes that one."""
    depth = 1
    for position, letter in enumerate(inner):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if depth == 0:
            return position == len(inner) - 1
    return False


def qualified(annotation: str) -> str:
    """Return a type as it is written in a module that imports `pulumi`."""
    return re.sub(r"(?<![\w.])Input\[", "pulumi.Input[", annotation)


def _input(hint: Any, *, or_dictionary: bool) -> str:
    origin = get_origin(hint)
    if origin is Literal:
        return "Input[str]"
    if origin is tuple:
        return f"Input[Sequence[{_input(get_args(hint)[0], or_dictionary=or_dictionary)}]]"
    if hint in _PLAIN:
        return f"Input[{_PLAIN[hint]}]"
    if origin is not None:  # a mapping
        return f"Input[Mapping[str, {_input(get_args(hint)[1], or_dictionary=or_dictionary)}]]"
    if hint not in ARGS_OF:
        return "Input[Mapping[str, Any]]"
    return f"Input[{ARGS_OF[hint]} | Mapping[str, Any]]" if or_dictionary else f"Input[{ARGS_OF[hint]}]"
