"""Projects and their locations. In the emulator every project exists."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


def project_number(project: str) -> str:
    """Return the number of a project: twelve digits derived from its id. A number is returned unchanged."""
    if project.isascii() and project.isdigit():
        return project
    digest = hashlib.sha256(b"project " + project.encode("utf-8", "surrogatepass")).digest()
    return str(100_000_000_000 + int.from_bytes(digest[:8], "big") % 900_000_000_000)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A location of a project. `project` is the id or the number that the client sent."""

    project: str
    location: str

    @property
    def number(self) -> str:
        return project_number(self.project)

    @property
    def as_asked(self) -> str:
        """The resource name in Artifact Registry's answers, with the project as the client sent it."""
        return f"projects/{self.project}/locations/{self.location}"

    def __str__(self) -> str:
        """Return the resource name in Vertex AI's answers, with the project's number."""
        return f"projects/{self.number}/locations/{self.location}"
