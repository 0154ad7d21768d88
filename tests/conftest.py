"""Options of the whole suite."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="record what this version makes, for later versions to be held to",
    )
    parser.addoption(
        "--cold-python",
        action="store_true",
        help="let Pulumi start every Python process by itself (tests/support/warm_python.py)",
    )


_LONGEST = ("test_kills", "test_rerun_policies", "test_buckets", "test_models", "test_persistent_resources")
_LONG = ("engine", "soak", "clients", "cli")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: processes that get a file at a time then end at about the same time."""
    items.sort(key=lambda item: _rank(item.path))


def _rank(path: Path) -> tuple[int, int]:
    folders = path.relative_to(Path(__file__).parent).parts
    longest = folders[0] == "engine" and path.stem in _LONGEST
    return (
        _LONGEST.index(path.stem) if longest else len(_LONGEST),
        _LONG.index(folders[0]) if folders[0] in _LONG else len(_LONG),
    )
