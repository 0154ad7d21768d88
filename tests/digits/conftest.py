"""The digits example on the path, and a factory of jobs that leaves nothing running."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from digits.replicas import EXAMPLE, NewJob, jobs_in
from support.emulated.warm_emulators import _warm_emulators as _warm_emulators

sys.path.insert(0, str(EXAMPLE))  # the example does not belong to the installed project


@pytest.fixture(scope="module")
def new_job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewJob]:
    """Yield a factory of jobs; at the end of the module kill those that are still running."""
    with jobs_in(lambda: Path(tmp_path_factory.mktemp("job"))) as make:
        yield make
