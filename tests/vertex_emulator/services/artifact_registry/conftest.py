"""One emulator for the tests of a module. Each test creates its own repositories."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from support.emulated.registries.artifacts import create
from vertex_emulator.daemon.daemon import Daemon

_numbers = itertools.count(1)


@pytest.fixture
def repository(emulator: Daemon) -> str:
    """Create a repository for images and return its ID."""
    name = f"repository-{next(_numbers)}"
    create(emulator, name)
    return name


@pytest.fixture
def make(emulator: Daemon) -> Callable[..., str]:
    """Return a function that creates a repository with fields and returns its ID."""

    def made(**fields: Any) -> str:
        name = f"repository-{next(_numbers)}"
        create(emulator, name, **fields)
        return name

    return made
