"""The settings of each policy: what a file of `pulumi preview --policy-pack-config` may have.

A file is read by the engine, which checks the types of the values by `json_schema`, and by `decode`, which
also reports names that no policy has.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from vertex_training.fields import durations
from vertex_training.fields.schema import camel_case, field_types, without_none
from vertex_training.findings.problems import Problem

PRODUCTION = ("prod", "prod-*", "production", "production-*")
"""Patterns of the stacks that are taken for production."""

ANYTHING = ("*",)

PREBUILT = (
    *(f"{place}-docker.pkg.dev/vertex-ai/*" for place in ("us", "europe", "asia")),
    *(f"{place}-docker.pkg.dev/vertex-ai-restricted/*" for place in ("us", "europe", "asia")),
    *(f"{host}/cloud-aiplatform/*" for host in ("gcr.io", "us.gcr.io", "eu.gcr.io", "asia.gcr.io")),
)
"""Google's prebuilt images, which are known by their tags. A host of others may end as Google's do."""

_LIMIT: Mapping[str, Any] = MappingProxyType({"schema": {"minimum": 0}})
"""A number that may not be negative."""

_DURATION: Mapping[str, Any] = MappingProxyType(
    {"convert": durations.seconds_text, "schema": {"type": ["string", "number"]}, "is_duration": True}
)


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The resources that a policy is for: patterns of stacks, and of resources that it leaves out."""

    stacks: tuple[str, ...] = ANYTHING
    """Stacks in which the policy applies, as patterns such as `prod-*`. Default: all."""
    exempt: tuple[str, ...] = ()
    """Names of resources that may break the policy, as patterns. Default: none."""


@dataclass(frozen=True, kw_only=True)
class MachineTypes(Scope):
    """Settings of `machine-types`."""

    allowed: tuple[str, ...] = ANYTHING
    """Machine types, as patterns such as `n1-*`. Default: all."""


@dataclass(frozen=True, kw_only=True)
class Accelerators(Scope):
    """Settings of `accelerators`."""

    allowed: tuple[str, ...] = ANYTHING
    """Accelerator types, as patterns such as `NVIDIA_L4`. Default: all. Machines without one are allowed."""
    most: int | None = field(default=None, metadata=_LIMIT)
    """Most accelerators of a resource, all replicas together: GPUs, and cores or chips of TPUs. Default: any
    number."""


@dataclass(frozen=True, kw_only=True)
class Regions(Scope):
    """Settings of `regions`."""

    allowed: tuple[str, ...] = ANYTHING
    """Regions, as patterns such as `europe-*`. Default: all."""


@dataclass(frozen=True, kw_only=True)
class Replicas(Scope):
    """Settings of `replicas`."""

    most: int | None = field(default=None, metadata=_LIMIT)
    """Most replicas of a resource at the same time. Default: any number."""


@dataclass(frozen=True, kw_only=True)
class HourlyCost(Scope):
    """Settings of `hourly-cost`."""

    most: float | None = field(default=None, metadata=_LIMIT)
    """Most US dollars that a resource may cost in an hour, by the prices of `prices refresh` on the machine
    that deploys; without them, by those of the package. Default: any amount."""
    unknown_prices: Literal["refuse", "allow"] = "refuse"
    """`refuse` (default) a resource with a part whose price is not known, or `allow` it if the rest fits."""


@dataclass(frozen=True, kw_only=True)
class Spot(Scope):
    """Settings of `spot-outside-production`."""

    production: tuple[str, ...] = PRODUCTION
    """Stacks of production, in which the policy does not apply."""
    strategies: tuple[str, ...] = ("SPOT",)
    """Scheduling strategies that are allowed elsewhere."""


@dataclass(frozen=True, kw_only=True)
class ServiceAccounts(Scope):
    """Settings of `service-account`."""

    allowed: tuple[str, ...] = ANYTHING
    """Service accounts, as patterns such as `*@acme-training.iam.gserviceaccount.com`. Default: all."""


@dataclass(frozen=True, kw_only=True)
class EncryptionKeys(Scope):
    """Settings of `encryption-key`."""

    allowed: tuple[str, ...] = ANYTHING
    """Keys, as patterns such as `projects/acme-keys/*`. Default: all."""


@dataclass(frozen=True, kw_only=True)
class Labels(Scope):
    """Settings of `labels`."""

    required: tuple[str, ...] = ()
    """Keys of labels that each resource must have. Default: none."""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values that the label of a key may have, as patterns. Default: any."""


@dataclass(frozen=True, kw_only=True)
class Images(Scope):
    """Settings of `images`."""

    repositories: tuple[str, ...] = ANYTHING
    """Images without tag and digest, as patterns such as `europe-docker.pkg.dev/acme/*`. Default: all."""
    by_digest: bool = True
    """Refuse images that are named by a tag."""
    tags: tuple[str, ...] = PREBUILT
    """Images for which a tag is enough, as patterns. Default: Google's prebuilt images."""


@dataclass(frozen=True, kw_only=True)
class Timeouts(Scope):
    """Settings of `timeout`."""

    most: str | None = field(default=None, metadata=_DURATION)
    """Longest timeout, such as `86400s`, or a number of seconds. Default: any."""


@dataclass(frozen=True, kw_only=True)
class ProtectRunning(Scope):
    """Settings of `protect-running`."""

    stacks: tuple[str, ...] = PRODUCTION
    """Stacks in which the policy applies. Default: production."""


def problems_with(chosen: Scope, path: str) -> Iterator[Problem]:
    """Yield what is wrong with values of the right type: a limit below zero, a text that is no duration."""
    for item in dataclasses.fields(chosen):
        value, minimum = getattr(chosen, item.name), item.metadata.get("schema", {}).get("minimum")
        at = f"{path}.{item.name}"
        if value is None:
            continue
        if minimum is not None and not math.isfinite(value):
            yield Problem(path=at, message=f"{value:g} is not a JSON number. Give {minimum} or more")
        elif minimum is not None and value < minimum:
            yield Problem(path=at, message=f"{value:g} is negative. Give {minimum} or more")
        if item.metadata.get("is_duration") and (wrong := durations.problem_with(value)):
            yield Problem(path=at, message=wrong)


def json_schema(settings: type) -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each setting, by its name in a file."""
    hints = field_types(settings)
    return {
        camel_case(item.name): {**_schema_of(hints[item.name]), **item.metadata.get("schema", {})}
        for item in dataclasses.fields(settings)
    }


def _schema_of(hint: Any) -> dict[str, Any]:
    hint = without_none(hint)
    origin = get_origin(hint)
    if origin is tuple:
        return {"type": "array", "items": _schema_of(get_args(hint)[0])}
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema_of(get_args(hint)[1])}
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return {"type": names[hint]}
