"""How long new jobs wait for their start, as while machines are provisioned: `/_local/start-delay`.

A setting for tests, in memory as faults are. It counts for the jobs that are created from then on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vertex_emulator.http.messages import Request, Response, Route, json_response
from vertex_emulator.http.numbers import body_of, seconds

_PATH = "/_local/start-delay"


class StartDelay:
    """`seconds` on the emulator's clock; 0: at once. `path` is where it is asked for and set."""

    def __init__(self, *, path: str = _PATH, seconds: float = 0.0) -> None:
        self._path = path
        self.seconds = seconds

    def routes(self) -> Sequence[Route]:
        """GET and PUT, with a body like {"seconds": 5}."""
        return (Route("GET", self._path, self._get), Route("PUT", self._path, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({"seconds": self.seconds})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        self.seconds = seconds(body_of(request, "seconds"), "seconds")
        return self._get(request, match)
