"""Find an id that two resources of a program have, or that somebody else's resource has already.

The engine tells a provider neither the URN of a resource nor whether the service has its id. So the program
hands both over beside the inputs: a token that is unique to the resource in the program, and what it found
when it looked the id up. Only a check gets these two, and no state keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.core.interrupted import begun_creations
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.running.hidden_input import KEY_INPUT, ROW_INPUT
from vertex_training.findings.problems import Problem

DECLARATION = "__declaration"
"""The input with the token and the name of the resource in the program."""

FOUND = "__found"
"""The input with the id that the program looked up and the labels that it found; absent without an answer."""

_KEYS = (DECLARATION, FOUND, KEY_INPUT, ROW_INPUT)


@dataclass(frozen=True, kw_only=True)
class Identity:
    """An id of a kind of resource in a location, which only one resource can have.

    `field` is the input that gives the id. A resource that has one of the `labels` is the declaration's own.
    """

    noun: str
    field: str
    id: str
    place: str
    labels: tuple[Mapping[str, str], ...] = ()
    taken: str
    """The remedy if the service has the id already."""

    @property
    def key(self) -> str:
        return f"{self.noun} {self.place} {self.id}"


def split(news: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs of a resource, and what the program handed over beside them."""
    inputs = {name: value for name, value in news.items() if name not in _KEYS}
    return inputs, {name: news[name] for name in _KEYS if isinstance(news.get(name), (Mapping, str))}


def problems(identity: Identity, facts: Mapping[str, Any], *, is_new: bool) -> Iterator[Problem]:
    """Yield the conflict of an id with another resource of the program, or with an existing one.

    `is_new` is True if the check got no old inputs. So does that of a replacement, which follows one that
    got them.
    """
    if not is_new:
        OPERATION.note_existing(identity.key)
    declaration = facts.get(DECLARATION)
    if declaration is None:
        return
    me = f"{declaration['token']} {declaration['name']}"
    first = OPERATION.claim(identity.key, me)
    if first != me:
        yield Problem(
            path=identity.field,
            message=f"{identity.id!r} is the {identity.field} of two resources of this program: "
            f"{first.partition(' ')[2]!r} and {declaration['name']!r}. Only one {identity.noun} can have it. "
            f"Give one of the two another {identity.field}",
        )
        return
    found = facts.get(FOUND)
    if not found or found.get("id") != identity.id or OPERATION.exists(identity.key):
        return
    labels = found.get("labels") or {}
    is_own = any(each and each.items() <= labels.items() for each in identity.labels)
    if not is_own and not begun_creations.is_left_over(labels):
        yield Problem(path=identity.field, message=f"{identity.id!r} is taken: {identity.taken}")
