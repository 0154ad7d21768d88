"""Ctrl-C in Pulumi's host: the patch fits the installed one, and few others are private to Pulumi."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pulumi_vertex_training.core.engine import CANCELLED
from pulumi_vertex_training.dynamic import cancellation

CLIENT = Path(cancellation.__file__).parents[2]


def hosts_servicer() -> type[Any]:
    """Return the installed host's class with `Cancel` alone: importing the host would start it."""
    found = importlib.util.find_spec("pulumi.dynamic.__main__")
    assert found is not None and found.origin is not None
    tree = ast.parse(Path(found.origin).read_text())
    host = next(
        one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == cancellation.SERVICER
    )
    host.bases = []
    host.body = [one for one in host.body if isinstance(one, ast.FunctionDef) and one.name == "Cancel"]
    names: dict[str, Any] = {"empty_pb2": SimpleNamespace(Empty=lambda: "empty")}
    exec(compile(ast.Module(body=[host], type_ignores=[]), found.origin, "exec"), names)
    servicer: type[Any] = names[cancellation.SERVICER]
    return servicer


def test_it_fits_the_installed_host(monkeypatch: pytest.MonkeyPatch) -> None:
    servicer = hosts_servicer()
    assert servicer().Cancel(None, None) == "empty"
    monkeypatch.setattr(sys.modules["__main__"], cancellation.SERVICER, servicer, raising=False)
    bound = servicer().Cancel
    try:
        assert cancellation.listen()
        assert bound(None, None) == "empty"
        assert CANCELLED.is_set()
    finally:
        CANCELLED.clear()


def test_another_host_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], cancellation.SERVICER, SimpleNamespace(), raising=False)
    assert not cancellation.listen()


def test_nothing_else_patches_or_reads_frames() -> None:
    found = {
        path.name
        for path in CLIENT.rglob("*.py")
        if "cloud" not in path.parts
        if any(
            word in path.read_text() for word in ("__code__", "__closure__", "sys._getframe", "currentframe")
        )
    }
    assert found == {"cancellation.py", "detailed_diff.py", "request.py"}
