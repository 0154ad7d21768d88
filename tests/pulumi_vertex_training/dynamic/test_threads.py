"""The threads of Pulumi's host, in its real process: it serves as many calls as the engine makes."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pulumi_vertex_training.dynamic import threads
from support.client.plugin import PluginProcess
from support.waiting import TIMEOUT

CALLS = 16
PROVIDER = f"""
import threading

from pulumi_vertex_training.core.provider import Provider
from pulumi_vertex_training.dynamic.adapter import DynamicProvider

EVERYBODY = threading.Barrier({CALLS})


class Meeting(Provider):
    def delete(self, call):
        EVERYBODY.wait({TIMEOUT})


class DynamicMeeting(DynamicProvider):
    provider = Meeting()
"""


def test_sixteen_calls_are_served_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send calls that wait for each other, all before the process has imported a provider."""
    (tmp_path / "meeting_of_calls.py").write_text(PROVIDER)
    monkeypatch.syspath_prepend(tmp_path)
    provider = importlib.import_module("meeting_of_calls").DynamicMeeting()
    with PluginProcess(tmp_path) as plugin, ThreadPoolExecutor(CALLS) as callers:
        for call in [callers.submit(plugin.delete, provider, str(each), {}) for each in range(CALLS)]:
            call.result()


def test_another_pool_is_left_as_it_is() -> None:
    assert not threads.widen()
