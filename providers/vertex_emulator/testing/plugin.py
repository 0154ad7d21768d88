"""The pytest plugin: the fixture `vertex_emulator`. Nothing else is imported until a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vertex_emulator.testing.emulator import VertexEmulator


@pytest.fixture
def vertex_emulator(tmp_path: Path) -> Iterator[VertexEmulator]:
    """An emulator of this test alone; when it is over, its jobs are ended and it is stopped.

    What it held stays in tmp_path for whoever looks into a failed test.
    """
    from vertex_emulator.testing.emulator import running

    with running(tmp_path / "vertex-emulator") as emulator:
        yield emulator
