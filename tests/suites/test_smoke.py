"""One flow of each client that has its own environment, which is installed once: fetched, run, and passed."""

from __future__ import annotations

import dataclasses
import os

import pytest

from suites import installing, running
from suites.catalog import SUITES
from suites.suite import Flows

FLOWS = [suite for suite in SUITES if isinstance(suite, Flows)]


def _parameters() -> list[object]:
    """Return the flows; those whose environment is a large download are not in every run."""
    marks = {False: [pytest.mark.slow, pytest.mark.smoke], True: [pytest.mark.slow]}
    return [pytest.param(suite, id=suite.name, marks=marks[suite.large]) for suite in FLOWS]


@pytest.mark.parametrize("suite", _parameters())
def test_a_client(suite: Flows) -> None:
    if not installing.has_python_for(suite.requirements) and not os.environ.get("CI"):
        pytest.skip(f'not installed. To run this test: make suites ARGS="--only {suite.name}"')
    (file,) = suite.tests
    smoke = dataclasses.replace(suite, tests=(f"{file}::{suite.smoke}",), examples=None, wheels=())
    results = running.run(smoke)
    assert results.passed
    assert not results.failed
