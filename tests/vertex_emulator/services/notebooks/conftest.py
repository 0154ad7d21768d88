from __future__ import annotations

import pytest

from support.emulated.services.experiments import Experiments
from vertex_emulator.daemon.daemon import Daemon


@pytest.fixture
def api(emulator: Daemon) -> Experiments:
    """Return a client of the module's emulator."""
    return Experiments(emulator)
