"""Projects, which exist as soon as somebody names one, and places in them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


def project_number(project: str) -> str:
    """The number of a project id: twelve digits, always the same for the same id; a number stays itself."""
    if project.isascii() and project.isdigit():
        return project
    digest = hashlib.sha256(b"project " + project.encode("utf-8", "surrogatepass")).digest()
    return str(100_000_000_000 + int.from_bytes(digest[:8], "big") % 900_000_000_000)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A project and a location; `project` as it was asked with, an id or a number."""

    project: str
    location: str

    @property
    def number(self) -> str:
        return project_number(self.project)

    @property
    def as_asked(self) -> str:
        """The name that Artifact Registry answers with: with what was asked with."""
        return f"projects/{self.project}/locations/{self.location}"

    def __str__(self) -> str:
        """The name that Vertex AI answers with: with the project's number."""
        return f"projects/{self.number}/locations/{self.location}"
