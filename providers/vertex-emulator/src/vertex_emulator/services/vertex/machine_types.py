"""The machine types that jobs and persistent resources can have: those in the catalog.

Google adds machine types, so unknown ones can be allowed: for one request by a header that Google ignores, or
for all requests by a setting at `/_local/unknown-types`, which is kept in memory like faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.server.rpc.methods import Violation
from vertex_training.catalog import machines

HEADER = "X-Vertex-Training-Allow-Unknown-Types"
"""Has the value "true" on a create request that allows unknown types."""

_PATH = "/_local/unknown-types"
_SHAPE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


class UnknownTypes:
    """The setting that allows machine types that the catalog does not have."""

    def __init__(self) -> None:
        self.allowed = False

    def are_allowed(self, headers: Mapping[str, str]) -> bool:
        """Return whether they are allowed, by the setting or for this request."""
        return self.allowed or headers.get(HEADER, "").lower() == "true"

    def routes(self) -> Sequence[Route]:
        """Return the routes to get and put the setting, with a body like {"allowed": true}."""
        return (Route("GET", _PATH, self._get), Route("PUT", _PATH, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({"allowed": self.allowed})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        given = body_of(request, "allowed").get("allowed")
        if not isinstance(given, bool):
            raise HttpError(400, "", "allowed must be true or false.")
        self.allowed = given
        return self._get(request, match)


def problems(machine_type: str, path: str, *, allow_unknown: bool) -> Iterator[Violation]:
    """Check a machine type at `path` and yield each violation.

    The first sentence is the service's (documentation, "Troubleshooting Vertex AI").
    """
    words = f"Machine type {machine_type} is not supported."
    if not _SHAPE.fullmatch(machine_type):
        yield Violation(path, words)
    elif not allow_unknown and machines.machine(machine_type) is None:
        yield Violation(
            path,
            f"{words} If Google Cloud has it by now, allow it: set allow_unknown_types=True in the program "
            "that declares it, or run `vertex-training emulator unknown-types allow` for all clients.",
        )
