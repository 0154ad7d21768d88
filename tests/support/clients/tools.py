"""Third-party programs that tests drive; without one, its test is skipped with a remedy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

_REMEDIES = {
    "act": "make tools",
    "actionlint": "make tools",
    "buildah": "apt-get install buildah",
    "gcloud": "https://cloud.google.com/sdk/docs/install",
    "oras": "go install oras.land/oras/cmd/oras@v1.3.0",
    "pulumi-language-yaml": "make tools",
    "podman": "apt-get install podman",
    "skopeo": "apt-get install skopeo",
}


def tool(name: str, *, path: str | None = None) -> Path:
    """Return a program on `path`, or on PATH. Without it the test is skipped, or fails if CI is set."""
    if (found := shutil.which(name, path=path)) is None:
        missing(f"{name} is not on PATH. To run this test: {_REMEDIES.get(name, f'install {name}')}")
    return Path(found)


def missing(message: str) -> NoReturn:
    """Skip the test with a reason, or fail it if CI is set."""
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
