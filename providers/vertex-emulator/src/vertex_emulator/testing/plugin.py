"""The pytest plugin with the fixture `vertex_emulator`.

It imports nothing else until a test uses the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vertex_emulator.testing.emulator import VertexEmulator


@pytest.fixture
def vertex_emulator(tmp_path: Path) -> Iterator[VertexEmulator]:
    """Yield an emulator for this test only. After the test, its jobs are ended and it is stopped.

    Its data stays in tmp_path, so that you can see why a test failed.
    """
    from vertex_emulator.testing.emulator import running

    with running(tmp_path / "vertex-emulator") as emulator:
        yield emulator
