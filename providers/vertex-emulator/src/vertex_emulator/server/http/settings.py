"""The emulator's own calls for settings that tests make: GET all, POST one, DELETE all or some."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from vertex_emulator.kernel.settings import Settings
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response

View = Mapping[str, Any]


def settings_routes(
    path: str,
    settings: Settings[Any],
    *,
    views: Callable[[], Sequence[View]],
    put: Callable[[Request], View],
    parameters: Mapping[str, Callable[[str], str]],
) -> Sequence[Route]:
    """Return the routes at `path`.

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
