from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.client.verify.pair import Pair, paired


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Yield two emulators for all tests of a module."""
    with paired(tmp_path_factory.mktemp("pair")) as found:
        yield found
