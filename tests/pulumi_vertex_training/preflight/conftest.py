"""A project of Google Cloud for the tests of one check each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.client.services.google_project import GoogleProject, google_project
from support.client.services.preflights import G2_CPUS


@pytest.fixture
def google() -> Iterator[GoogleProject]:
    """Yield a project in which `support.client.services.preflights.JOB` has all it needs."""
    with google_project() as made:
        made.quotas.append(G2_CPUS)
        yield made
