"""Fixtures of tests that start emulators: a conftest.py imports them for its folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.warm import warm_python
from vertex_emulator.client.interpreter import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def _warm_emulators() -> Iterator[None]:
    """Fork emulators, their probes and supervisors from a warm interpreter, unless COLD_PYTHON is set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(warm_python.for_emulators()))
        yield


@pytest.fixture
def cold_emulators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start emulators and supervisors in interpreters of their own, for tests of their processes."""
    monkeypatch.delenv(VARIABLE, raising=False)
