"""The emulator's own calls at `/_local/denials`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Route
from vertex_emulator.server.http.settings import settings_routes
from vertex_emulator.server.permissions import calls
from vertex_emulator.server.permissions.denials import Denial, Denials, canonical, parse_denial

_PATH = "/_local/denials"
_MISSPELT = 0.95
"""How similar to a known permission one must be to count as misspelt, not as a permission of another call."""


def denial_routes(denials: Denials) -> Sequence[Route]:
    """Return GET all, POST one, DELETE all or, with the parameters permission and resource, some."""

    def add(request: Request) -> Mapping[str, Any]:
        body = body_of(request, "permission", "resource")
        denial = parse_denial(body.get("permission"), body.get("resource") or "")
        _check_known(denial.permission)
        denials.set(denial)
        return _view(denial)

    return settings_routes(
        _PATH,
        denials,
        views=lambda: views(denials),
        put=add,
        parameters={"permission": lambda given: parse_denial(given).permission, "resource": canonical},
    )


def views(denials: Denials) -> list[dict[str, Any]]:
    """Return the denials as JSON."""
    return [_view(each) for each in denials.all()]


def _view(denial: Denial) -> dict[str, Any]:
    """Return a denial. `enforced` is whether a call of the emulator fails by it."""
    return {
        "permission": denial.permission,
        "resource": denial.resource or None,
        "enforced": bool(calls.matching(denial.permission)),
    }


def _check_known(permission: str) -> None:
    """Refuse what is almost a permission that calls need: it is misspelt. Raises `HttpError` 400."""
    if calls.matching(permission):
        return
    families = {f"{each.rpartition('.')[0]}.*" for each in calls.PERMISSIONS}
    lower = {each.lower(): each for each in sorted(calls.PERMISSIONS | families)}
    near = difflib.get_close_matches(permission.lower(), lower, n=1, cutoff=_MISSPELT)
    if near:
        raise HttpError(400, "", f"There is no permission {permission!r}. Did you mean {lower[near[0]]!r}?")
