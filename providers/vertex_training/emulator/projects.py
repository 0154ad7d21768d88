"""Projects exist as soon as somebody names one."""

from __future__ import annotations

import hashlib


def project_number(project: str) -> str:
    """The number of a project id: twelve digits, always the same for the same id; a number stays itself."""
    if project.isascii() and project.isdigit():
        return project
    digest = hashlib.sha256(b"project " + project.encode("utf-8", "surrogatepass")).digest()
    return str(100_000_000_000 + int.from_bytes(digest[:8], "big") % 900_000_000_000)
