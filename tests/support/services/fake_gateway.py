"""A gateway whose calls a test provides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _unused(*_: Any) -> Any:
    raise AssertionError("not part of this test")


@dataclass(frozen=True, kw_only=True)
class FakeGateway:
    """Stand in for a `RunGateway`; a call that the test does not provide fails the test."""

    noun: str = "custom job"
    collection: str = "customJobs"
    create: Callable[..., Any] = _unused
    get: Callable[..., Any] = _unused
    list_by_label: Callable[..., Any] = _unused
    list_labelled: Callable[..., Any] = _unused
    cancel: Callable[..., Any] = _unused
    delete: Callable[..., Any] = _unused
