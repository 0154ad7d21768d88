"""The emulator's own calls at `/_local/denials`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.server.permissions import calls
from vertex_emulator.server.permissions.denials import Denial, DenialError, Denials, canonical, parse_denial

_PATH = "/_local/denials"
_MISSPELT = 0.95
"""How similar to a known permission one must be to count as misspelt, not as a permission of another call."""


def denial_routes(denials: Denials) -> Sequence[Route]:
    """Return GET all, POST one, DELETE all or, with the parameters permission and resource, some."""

    def listed(_request: Request, _match: re.Match[str]) -> Response:
        return json_response({"denials": views(denials)})

    def add(request: Request, _match: re.Match[str]) -> Response:
        body = body_of(request, "permission", "resource")
        try:
            denial = parse_denial(body.get("permission"), body.get("resource") or "")
        except DenialError as error:
            raise HttpError(400, "", str(error)) from error
        _check_known(denial.permission)
        denials.add(denial)
        return json_response(_view(denial))

    def remove(request: Request, _match: re.Match[str]) -> Response:
        for name in request.query:
            if name not in ("permission", "resource"):  # a misspelt name would remove all denials
                raise HttpError(400, "", f"{name!r} is not known. Use permission or resource.")
        permission, resource = request.parameter("permission"), request.parameter("resource")
        try:
            permission = None if permission is None else parse_denial(permission).permission
            resource = None if resource is None else canonical(resource)
        except DenialError as error:
            raise HttpError(400, "", str(error)) from error
        return json_response({"removed": denials.remove(permission=permission, resource=resource)})

    return (Route("GET", _PATH, listed), Route("POST", _PATH, add), Route("DELETE", _PATH, remove))


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
