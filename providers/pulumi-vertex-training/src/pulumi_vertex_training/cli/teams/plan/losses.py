"""The buckets and repositories that a deployment deletes with all their content, and what is in them now.

The provider deletes the content only if the state has `force_destroy`; the declaration does not count.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan.live import endpoint_at
from pulumi_vertex_training.cli.teams.plan.plan import effect_of, name_of, type_of
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.kinds.image_repository import gateway as repositories
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.command_line.errors import CommandError
from vertex_training.findings.words import counted

_PAGE = 1000
"""Most entries to count: one call lists no more."""


@dataclass(frozen=True, kw_only=True)
class _Store:
    """A kind of resource with content. `lost` is what is lost with it, `count` lists one page of entries."""

    noun: str
    entry: str
    lost: str
    count: Callable[[Endpoint, str], tuple[int, bool]]


def _images(endpoint: Endpoint, name: str) -> tuple[int, bool]:
    found = len(repositories.packages(endpoint, name, limit=_PAGE))
    return found, found >= _PAGE


_STORES: Mapping[str, _Store] = {
    "StagingBucket": _Store(
        noun="bucket",
        entry="object",
        lost="models and metrics of earlier runs too",
        count=functools.partial(buckets.count_objects, most=_PAGE),
    ),
    "ImageRepository": _Store(
        noun="repository",
        entry="image",
        lost="images of earlier runs too",
        count=_images,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A bucket or repository that is deleted with its content.

    `address` is its URL. `count` is the number of its entries, None if it is not known, and a lower bound
    if `has_more` is true.
    """

    name: str
    type: str
    address: str
    count: int | None = None
    has_more: bool = False

    def sentence(self, *, name: str = "", address: str = "") -> str:
        """Return the loss; `name` and `address` replace their texts for an output that marks them up."""
        store = _STORES[self.type]
        return (
            f"{name or self.name}: the {store.noun} {address or self.address} is deleted with all its "
            f"{store.entry}s (force_destroy){self._now}: {store.lost}"
        )

    @property
    def words(self) -> str:
        """The loss in the row of its resource: "deleted with all its objects, 296 objects now"."""
        return f"deleted with all its {_STORES[self.type].entry}s{self._now}"

    @property
    def _now(self) -> str:
        if not self.count:
            return ""
        least = "at least " if self.has_more else ""
        return f", {least}{counted(self.count, _STORES[self.type].entry)} now"

    def document(self) -> dict[str, Any]:
        """Return the loss as JSON."""
        return {
            "address": self.address,
            "count": self.count,
            "hasMore": self.has_more,
            "message": self.sentence(),
        }


def losses(steps: Sequence[Mapping[str, Any]], data_dir: Path | None, timeouts: Timeouts) -> dict[str, Loss]:
    """Return the losses of a preview's steps, by the URN of their resource.

    An empty bucket or repository loses nothing, and one that is gone neither. `data_dir` is the emulator's
    folder, None the default.
    """
    lost = [step for step in steps if _is_emptied(step, steps)]
    found = call_each(lambda step: _loss(step, data_dir, timeouts), lost)
    return {str(step["urn"]): loss for step, loss in zip(lost, found, strict=True) if loss is not None}


def _is_emptied(step: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> bool:
    old = step.get("oldState") or {}
    if registry.resource_of(type_of(step)) not in _STORES or effect_of(step) not in ("delete", "replace"):
        return False
    if step.get("op") == "discard" or old.get("retainOnDelete"):
        return False
    return _recorded(old).get("force_destroy") is True and not _is_adopted(step, steps)


def _is_adopted(step: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether another entry of the state gets the resource, as after a new name in the program."""
    url = _recorded(step.get("oldState") or {}).get("url")
    return bool(url) and any(
        _recorded(one.get("newState") or {}).get("url") == url
        for one in steps
        if one.get("urn") != step.get("urn") and effect_of(one) != "delete"
    )


def _recorded(state: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**(state.get("inputs") or {}), **(state.get("outputs") or {})}


def _loss(step: Mapping[str, Any], data_dir: Path | None, timeouts: Timeouts) -> Loss | None:
    old, type_ = step["oldState"], registry.resource_of(type_of(step))
    id_, recorded = str(old.get("id")), _recorded(old)
    count, has_more = None, False
    try:
        endpoint = endpoint_at(recorded, data_dir, timeouts)
        count, has_more = _STORES[type_].count(endpoint, id_)
    except NotFound:
        return None
    except (CloudError, CommandError):
        pass  # the loss is certain, only its size is not known
    if count == 0 and not has_more:
        return None
    return Loss(
        name=name_of(step),
        type=type_,
        address=str(recorded.get("url") or id_),
        count=count,
        has_more=has_more,
    )
