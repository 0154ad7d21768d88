"""Compute Engine, which the emulator does not have: the calls of checks before a job are refused by name.

To answer that a network does not exist would be a guess: the emulator's jobs may name any.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from vertex_emulator.server.http.messages import Request, Response, Route, not_supported

_NOUNS = {
    "reservations": "reservations",
    "networks": "networks",
    "subnetworks": "subnetworks",
    "networkAttachments": "network attachments",
}
_PATHS = {
    "reservations": r"zones/[^/]+/reservations",
    "networks": r"global/networks",
    "subnetworks": r"regions/[^/]+/subnetworks",
    "networkAttachments": r"regions/[^/]+/networkAttachments",
}


def routes() -> Sequence[Route]:
    """Return the routes, which answer UNIMPLEMENTED."""
    return [
        Route(
            "GET",
            rf"/compute/v1/projects/[^/]+/{path}/[^/]+",
            functools.partial(_refused, _NOUNS[collection]),
            f"compute.{collection}.get",
        )
        for collection, path in _PATHS.items()
    ]


def _refused(nouns: str, _request: Request, _match: re.Match[str]) -> Response:
    raise not_supported(f"The emulator has no {nouns}.")
