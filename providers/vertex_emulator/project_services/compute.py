"""Compute Engine, as far as checks before a job ask for it: no reservation, network or attachment exists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from vertex_emulator.http.messages import HttpError, Request, Response, Route

_PATHS = {
    "reservations": r"zones/[^/]+/reservations",
    "networks": r"global/networks",
    "subnetworks": r"regions/[^/]+/subnetworks",
    "networkAttachments": r"regions/[^/]+/networkAttachments",
}


def routes() -> Sequence[Route]:
    """Return the routes, which answer NOT_FOUND in Compute Engine's words."""
    return [
        Route("GET", rf"/compute/v1/(projects/[^/]+/{path}/[^/]+)", _missing, f"compute.{collection}.get")
        for collection, path in _PATHS.items()
    ]


def _missing(_request: Request, match: re.Match[str]) -> Response:
    raise HttpError(404, "NOT_FOUND", f"The resource '{unquote(match[1])}' was not found")
