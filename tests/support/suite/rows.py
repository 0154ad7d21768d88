"""The rows of a parametrized test can be read twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Refuse rows that an iterator yields: a process may collect a file for slow tests, then for the others.

    The second time there would be no row, and only in the runs whose order brings both to one process.
    """
    for mark in metafunc.definition.iter_markers("parametrize"):
        rows = mark.args[1] if len(mark.args) > 1 else mark.kwargs.get("argvalues")
        if isinstance(rows, Iterator):
            test = metafunc.definition.nodeid
            pytest.fail(f"{test}: parametrize needs a tuple or a list, not an iterator", pytrace=False)
