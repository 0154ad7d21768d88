"""Which persistent resources and models a state names, and where it says that they are.

People choose these names, so the same one is in many states: also in those of other projects, and of the
emulator. A mention counts unless it says that it is of another place; what it does not say counts as any. A
project of which one side has the number and the other the id may be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint

RESOURCES = "persistentResources"
MODELS = "models"

_NAME = re.compile(rf"(?:projects/([^/\s]+)/)?locations/([^/\s]+)/({RESOURCES}|{MODELS})/([\w-]+)")
_KEYS: Mapping[str, str] = {
    "persistent_resource_id": RESOURCES,
    "persistentResourceId": RESOURCES,
    "model_id": MODELS,
    "modelId": MODELS,
    "parent_model": MODELS,
    "parentModel": MODELS,
    "adopt": MODELS,
}
"""Where the last part of a name may stand alone."""


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A name in a state; "" for what the state does not say."""

    collection: str
    id: str
    location: str = ""
    project: str = ""
    endpoint: str = ""

    def may_be(self, name: str, endpoint: Endpoint) -> bool:
        """Whether it may mean what has this full name at this endpoint."""
        _, _, _, location, collection, id_ = name.split("/")
        return (
            (self.collection, self.id) == (collection, id_)
            and self.location in ("", location)
            and self.endpoint in ("", endpoint.kind)
            and (not self.project or _may_be_one(self.project, endpoint.project))
        )


def mentions_of(resource: Mapping[str, Any], *, is_ours: bool) -> Iterator[Mention]:
    """All that one resource of a state says anywhere. Only of ours it is known what names the place, and that
    of the inputs may be another than that of the outputs.
    """
    parts = {key: value for key in ("inputs", "outputs") if isinstance(value := resource.get(key), Mapping)}
    whole = {name: value for part in parts.values() for name, value in part.items()}
    rest = {key: value for key, value in resource.items() if key not in parts}
    for value, properties in ((rest, whole), *((part, part) for part in parts.values())):
        yield from _mentions(value, _place(properties) if is_ours else _ANYWHERE)


def _mentions(value: object, place: Mention) -> Iterator[Mention]:
    if isinstance(value, str):
        for project, location, collection, id_ in _NAME.findall(value):
            named = replace(place, collection=collection, id=id_, location=location)
            yield replace(named, project=project) if project else named
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key in _KEYS and isinstance(item, str) and "/" not in item:
                yield replace(place, collection=_KEYS[key], id=item.partition("@")[0])
            yield from _mentions(item, place)
    elif isinstance(value, list):
        for item in value:
            yield from _mentions(item, place)


def _place(properties: Mapping[str, Any]) -> Mention:
    """A mention of nothing yet, of the place that these properties name."""
    said = {name: properties.get(name) for name in ("location", "project", "endpoint")}
    return replace(_ANYWHERE, **{name: value for name, value in said.items() if isinstance(value, str)})


_ANYWHERE = Mention(collection="", id="")


def _may_be_one(project: str, other: str) -> bool:
    return project == other or project.isdigit() != other.isdigit()
