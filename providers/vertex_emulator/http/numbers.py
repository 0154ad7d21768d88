"""Numbers in what is asked of the emulator's own paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_emulator.http.messages import HttpError, Request

MOST_SECONDS = 10 * 365 * 24 * 3600.0
"""Ten years."""

_SHOWN = 100


def seconds(body: Mapping[str, Any], name: str, *, default: float | None = None) -> float:
    """A length of time that the body has under a name. Raises `HttpError` 400."""
    return number(body, name, most=MOST_SECONDS, what="a number of seconds", default=default)


def number(
    body: Mapping[str, Any],
    name: str,
    *,
    most: float,
    what: str,
    least: float = 0.0,
    default: float | None = None,
) -> float:
    """A number between two others. Raises `HttpError` 400; without `default` it has to be there."""
    given = body.get(name, default)
    fits = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not fits or not least <= given <= most:  # NaN is not between anything
        raise HttpError(400, "", f"{name} has to be {what} from {least:g} to {most:g}, not {_short(given)}.")
    return float(given)


def _short(given: object) -> str:
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def body_of(request: Request, *names: str) -> Mapping[str, Any]:
    """The JSON object of a request, which has no other keys. Raises `HttpError` 400."""
    body = request.body.json()
    if not isinstance(body, Mapping):
        wanted = f"with {', '.join(names)}" if names else "and that may be empty"
        raise HttpError(400, "", f"A JSON object is expected, {wanted}.")
    for key in body:
        if key not in names:
            known = f"there is {', '.join(names)}" if names else "nothing can be given here"
            raise HttpError(400, "", f"{key!r} is not known; {known}.")
    return body
