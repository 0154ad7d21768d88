"""A view: a page that is read when it is opened, and does not change while it is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint


@dataclass(frozen=True, kw_only=True)
class Query:
    """The query of an address, whose names may repeat."""

    pairs: tuple[tuple[str, str], ...] = ()

    def one(self, name: str) -> str:
        """Return the first value of a name, "" without one."""
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of a name."""
        return tuple(value for key, value in self.pairs if key == name)


@dataclass(frozen=True, kw_only=True)
class View:
    """A page of the dashboard that is not live.

    `template` gets the result of `read` as `model`. `read` may raise CloudError, CommandError and
    MissingError. With a `label` the page is in the navigation.
    """

    path: str
    template: str
    title: Callable[[Any], str]
    read: Callable[[Endpoint, Query], Any]
    label: str = ""
