"""The machine types that jobs and persistent resources can have: those in the catalog.

Google adds machine types, so unknown ones can be allowed: for one request by a header that Google ignores, or
for all requests by a setting at `/_local/unknown-types`, which is kept in memory like faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from vertex_emulator.server.http.settings import Setting, boolean
from vertex_emulator.server.rpc.methods import Violation
from vertex_training.catalog import machines

HEADER = "X-Vertex-Training-Allow-Unknown-Types"
"""Has the value "true" on a create request that allows unknown types."""

_SHAPE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


class UnknownTypes(Setting[bool]):
    """The setting that allows machine types that the catalog does not have."""

    path, key = "/_local/unknown-types", "allowed"

    def read(self, body: Mapping[str, Any]) -> bool:
        return boolean(body, "allowed")

    def are_allowed(self, headers: Mapping[str, str]) -> bool:
        """Return whether they are allowed, by the setting or for this request."""
        return self.value or headers.get(HEADER, "").lower() == "true"


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
            "that declares it, or run `vertex-emulator unknown-types allow` for all clients.",
        )
