"""Options of the whole suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="record what this version makes, for later versions to be held to",
    )


_LONGEST_FIRST = ("test_kills.py", "test_soak.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: several processes then end at about the same time."""
    items.sort(key=lambda item: (item.path.name not in _LONGEST_FIRST, item.path.parent.name != "engine"))
