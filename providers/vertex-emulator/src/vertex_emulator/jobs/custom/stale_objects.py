"""The setting of stale objects below /gcs for the replicas of new jobs: in memory, with its admin path.

Cloud Storage FUSE 3 keeps metadata for ever on large machines (its documentation, "Automated
configurations").
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from vertex_emulator.replicas.sandbox.mounts import cached_buckets
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response

_PATH = "/_local/stale-objects"


class StaleObjects:
    """The setting. `sandbox` returns how replicas are started here."""

    def __init__(self, sandbox: Callable[[], Sandbox]) -> None:
        self.chosen = False
        self._sandbox = sandbox

    def lines(self) -> tuple[str, ...]:
        """Return lines for the log of a new job."""
        if not self.chosen:
            return ()
        return (
            "Emulator: stale objects: an object below /gcs that another replica rewrites looks unchanged, as "
            "on large machines. New names are seen.",
        )

    def routes(self) -> Sequence[Route]:
        """Return GET and PUT; their body looks like {"stale": true}."""
        return (Route("GET", _PATH, self._get), Route("PUT", _PATH, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({"stale": self.chosen})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        given = body_of(request, "stale").get("stale")
        if not isinstance(given, bool):
            raise HttpError(400, "", "stale must be true or false.")
        if given and (problem := self._problem()):
            raise HttpError(
                400,
                "FAILED_PRECONDITION",
                f"stale: replicas cannot have stale objects on this machine: {problem}. Let the emulator's "
                "user open /dev/fuse, run the emulator as root, or keep "
                "`vertex-training emulator stale-objects off`.",
            )
        self.chosen = given
        return self._get(request, match)

    def _problem(self) -> str:
        """Return what is missing on this machine, "" if nothing is."""
        sandbox = self._sandbox()
        if not sandbox.shows_gcs:
            return f"they have no /gcs ({sandbox.reason})"
        try:
            os.close(cached_buckets.open_device())
        except OSError as error:
            return str(error)
        return ""
