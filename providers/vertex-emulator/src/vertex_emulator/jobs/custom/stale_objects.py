"""The setting of stale objects below /gcs for the replicas of new jobs: in memory, with its admin path.

Cloud Storage FUSE 3 keeps metadata for ever on large machines (its documentation, "Automated
configurations").
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from vertex_emulator.replicas.sandbox.mounts import cached_buckets
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.server.http.messages import HttpError
from vertex_emulator.server.http.settings import Setting, boolean


class StaleObjects(Setting[bool]):
    """The setting. `sandbox` returns how replicas are started here."""

    path, key = "/_local/stale-objects", "stale"

    def __init__(self, sandbox: Callable[[], Sandbox]) -> None:
        super().__init__(False)
        self._sandbox = sandbox

    def lines(self) -> tuple[str, ...]:
        """Return lines for the log of a new job."""
        if not self.value:
            return ()
        return (
            "Emulator: stale objects: an object below /gcs that another replica rewrites looks unchanged, as "
            "on large machines. New names are seen.",
        )

    def read(self, body: Mapping[str, Any]) -> bool:
        given = boolean(body, "stale")
        if given and (problem := self._problem()):
            raise HttpError(
                400,
                "FAILED_PRECONDITION",
                f"stale: replicas cannot have stale objects on this machine: {problem}. Let the emulator's "
                "user open /dev/fuse, run the emulator as root, or keep "
                "`vertex-emulator stale-objects off`.",
            )
        return given

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
