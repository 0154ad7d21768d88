"""A page: an address, what it reads for it, and the parts that change while it is open."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import InvalidArgument, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord


class MissingError(Exception):
    """There is nothing at the address. The message says what, and what to do."""


@contextlib.contextmanager
def missing_if_refused() -> Iterator[None]:
    """Raise MissingError where the service has nothing of the address, or does not take it for one."""
    try:
        yield
    except (NotFound, InvalidArgument) as error:
        raise MissingError(str(error)) from error


@dataclass(frozen=True, kw_only=True)
class Fragment:
    """A part that is replaced as a whole when it changes. `values` are its template's."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a table, in order, each with a key. A row is replaced when its item changes.

    The template gets `key`, which has to be the id of the row's element, and `item`.
    """

    template: str
    items: Sequence[tuple[str, Hashable]]


Part = Fragment | Rows


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the dashboard.

    `path` is a path of Starlette, `template` the whole page's, which has a place for each part.
    `read` returns the model for the parameters of path and query; it may raise CloudError, CommandError and
    MissingError. `parts` returns what changes, `fixed` further values for the template. `log_of` returns the
    job whose log the page follows. With a `label` the page is in the navigation.

    `version` returns a value that differs once the model may have changed, for less than `read` costs.
    `is_over` returns whether a model will hardly change again, so that it is read less often.
    """

    name: str
    path: str
    template: str
    title: Callable[[Any], str]
    read: Callable[[Endpoint, Mapping[str, str]], Any]
    parts: Callable[[Any], Mapping[str, Part]]
    fixed: Callable[[Any, Mapping[str, str]], Mapping[str, Any]] = lambda _model, _parameters: {}
    log_of: Callable[[Any], JobRecord] | None = None
    version: Callable[[Endpoint], Hashable] | None = None
    is_over: Callable[[Any], bool] = lambda _model: False
    label: str = ""
