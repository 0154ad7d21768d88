"""Options, fixtures and the order of the whole suite."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import support.properties  # noqa: F401  loads the profile of hypothesis
from support.suite import worker
from support.suite.rows import pytest_generate_tests  # noqa: F401  a hook

# Tests fork replicas from the process that has an emulator: the handlers of gRPC would wait for its threads.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# Processes that tests start wait longer for each other than an ordinary user's: the machine is busy.
os.environ.setdefault("VERTEX_TRAINING_TIMEOUT_SCALE", "5")
# An emulator has 400 patterns of routes, of 512 that are kept: the next one in the process needs them again.
re._MAXCACHE = 4096  # type: ignore[attr-defined]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="record states and requests of this version, with which later versions are compared",
    )


_FOLDERS_IN_WRITTEN_ORDER = ("clients",)


def pytest_configure(config: pytest.Config) -> None:
    worker.register(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put some tests back into their written order, after pytest-randomly has shuffled them."""
    items.sort(key=_written_order)


def _folder(path: Path) -> str:
    return path.relative_to(Path(__file__).parent).parts[0]


def _written_order(item: pytest.Item) -> tuple[str | int, ...]:
    """Return a key that keeps some tests in the order of their file; it is the same for all other tests.

    The tests of third-party clients are slow: each uses what the one before it has created, and the last one
    deletes it.
    """
    if _folder(item.path) not in _FOLDERS_IN_WRITTEN_ORDER or not isinstance(item, pytest.Function):
        return ()
    row = getattr(item, "callspec", None)
    return (str(item.path), item.function.__code__.co_firstlineno, *(row.indices.values() if row else ()))
