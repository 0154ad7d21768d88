"""An emulator whose proxy the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.emulated.clients.door import Door
from support.emulated.emulator import running


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        yield Door(daemon)
