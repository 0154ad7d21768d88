"""Settings of the emulator for tests, at paths of their own: single values, and lists such as quotas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, TypeVar

from vertex_emulator.kernel.settings import Settings
from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response

View = Mapping[str, Any]
Value = TypeVar("Value")
Choice = TypeVar("Choice", bound=str)


class Setting(Generic[Value]):
    """A value in memory, which GET at `path` shows and PUT changes. Their bodies look like {`key`: value}."""

    path: str
    key: ClassVar[str]
    changed: Callable[[], None] = staticmethod(lambda: None)
    """Called after a PUT."""

    def __init__(self, default: Value) -> None:
        self._default = default
        self.value = default

    def read(self, body: Mapping[str, Any]) -> Value:
        """Return the value in the body of a PUT. Raises `HttpError` 400."""
        raise NotImplementedError

    def reset(self) -> None:
        """Go back to the default."""
        self.value = self._default

    def routes(self) -> Sequence[Route]:
        return (Route("GET", self.path, self._get), Route("PUT", self.path, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({self.key: self.value})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        self.value = self.read(body_of(request, self.key))
        self.changed()
        return self._get(request, match)


def boolean(body: Mapping[str, Any], name: str) -> bool:
    """Return true or false from the body. Raises `HttpError` 400."""
    given = body.get(name)
    if not isinstance(given, bool):
        raise HttpError(400, "", f"{name} must be true or false.")
    return given


def choice(body: Mapping[str, Any], name: str, choices: Sequence[Choice]) -> Choice:
    """Return one of the choices from the body. Raises `HttpError` 400."""
    given = body.get(name)
    if given not in choices:
        raise HttpError(400, "", f"{name} must be {' or '.join(choices)}.")
    return choices[choices.index(given)]


def settings_routes(
    path: str,
    settings: Settings[Any],
    *,
    views: Callable[[], Sequence[View]],
    put: Callable[[Request], View],
    parameters: Mapping[str, Callable[[str], str]],
) -> Sequence[Route]:
    """Return the routes at `path` to GET all settings, POST one, and DELETE all or some.

    `views` returns what GET shows, below the last name of the path. `put` sets one, and returns its view.
    `parameters` of DELETE are fields of the settings, with functions that read their values. Both may raise
    ValueError.
    """

    def listed(_request: Request, _match: re.Match[str]) -> Response:
        return json_response({path.rpartition("/")[2]: views()})

    def posted(request: Request, _match: re.Match[str]) -> Response:
        with _bad_values():
            return json_response(put(request))

    def clear(request: Request, _match: re.Match[str]) -> Response:
        for name in request.query:
            if name not in parameters:  # a misspelt name would remove all settings
                raise HttpError(400, "", f"{name!r} is not known. Use {' or '.join(parameters)}.")
        with _bad_values():
            values = {
                name: read(given)
                for name, read in parameters.items()
                if (given := request.parameter(name)) is not None
            }
        return json_response({"removed": settings.remove(**values)})

    return (
        Route("GET", path, listed),
        Route("POST", path, posted),
        Route("DELETE", path, clear),
    )


@contextmanager
def _bad_values() -> Iterator[None]:
    """Turn a ValueError within the block into an `HttpError` 400."""
    try:
        yield
    except ValueError as error:
        raise HttpError(400, "", str(error)) from error
