"""The seed of all searches that begin from now on: `/_local/tuning-seed`.

Without one each job has its own, made of its id. With one, a job can be repeated: the same study gets the
same trials, as far as they end in the same order. A setting for tests, in memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.http.numbers import body_of

_PATH = "/_local/tuning-seed"
_MOST = 2**63


class Seed:
    """`value` None: each job has its own."""

    def __init__(self) -> None:
        self.value: int | None = None

    def routes(self) -> Sequence[Route]:
        """GET and PUT, with a body like {"seed": 7}, or null."""
        return (Route("GET", _PATH, self._get), Route("PUT", _PATH, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({"seed": self.value})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        given = body_of(request, "seed").get("seed")
        if given is not None and (type(given) is not int or not 0 <= given < _MOST):
            raise HttpError(400, "", "seed has to be a whole number from 0 to 2^63 - 1, or null.")
        self.value = given
        return self._get(request, match)
