"""Timeouts of processes that wait for each other keep their order at every scale."""

from __future__ import annotations

import pytest

from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts


@pytest.mark.parametrize(("own", "other", "used"), [(1, 1, 1), (1, 3, 3), (3, 1, 3), (2, 3, 3), (3, 3, 3)])
def test_the_larger_scale_of_two_processes_counts(own: float, other: float, used: float) -> None:
    timeouts = ClientTimeouts().at_least(own).at_least(other)
    assert timeouts.scale == used
    assert timeouts.probe == CLIENT.probe * used
