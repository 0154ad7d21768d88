"""Detailed diffs of Pulumi's host, in its real process, and of a host that is made otherwise."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from pulumi_vertex_training.dynamic import cancellation, detailed_diff
from support.client.plugin import PluginProcess, serialized

PROVIDER = """
from pulumi.dynamic import DiffResult, ResourceProvider

from pulumi_vertex_training.core.call import Call, Difference, PropertyChange
from pulumi_vertex_training.core.provider import Provider
from pulumi_vertex_training.dynamic.adapter import DynamicProvider


class Telling(Provider):
    def diff(self, call: Call) -> Difference:
        if "same" in call.inputs:
            return Difference(changes=True)
        return Difference(
            changes=True,
            properties=[
                PropertyChange(path=("pools", 1, "size"), kind="update", replaces=True),
                PropertyChange(path=("labels", "a.b"), kind="add"),
                PropertyChange(path=("labels", "c"), kind="delete"),
                PropertyChange(path=("odd", "a" + chr(92)), kind="add", replaces=True),
                PropertyChange(path=("odd", "b" + chr(92)), kind="add"),
            ],
        )


class TellingProvider(DynamicProvider):
    provider = Telling()


class AnothersProvider(ResourceProvider):
    def diff(self, _id, _olds, _news):
        return DiffResult(changes=True, replaces=["a"])
"""


def test_the_hosts_answer_has_the_changes_of_our_providers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "provider_of_changes.py").write_text(PROVIDER)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("provider_of_changes")
    with PluginProcess(tmp_path) as plugin:

        def diff(provider: Any, **news: str) -> provider_pb2.DiffResponse:
            return plugin.stub.Diff(
                provider_pb2.DiffRequest(
                    id="id", urn="urn", olds=serialized(provider, {}), news=serialized(provider, news)
                )
            )

        plugin.check(module.TellingProvider(), {})  # the engine checks or reads before it compares
        answer = diff(module.TellingProvider())
        kinds = {
            path: provider_pb2.PropertyDiff.Kind.Name(each.kind) for path, each in answer.detailedDiff.items()
        }
        assert kinds == {
            "pools[1].size": "UPDATE_REPLACE",
            'labels["a.b"]': "ADD",
            "labels.c": "DELETE",
            "odd": "ADD_REPLACE",
        }
        assert answer.hasDetailedDiff
        assert not any(each.inputDiff for each in answer.detailedDiff.values())
        assert list(answer.replaces) == ["pools", "odd"]
        for other in (diff(module.TellingProvider(), same="same"), diff(module.AnothersProvider())):
            assert other.changes == provider_pb2.DiffResponse.DIFF_SOME
            assert not other.hasDetailedDiff
            assert not other.detailedDiff


def _of_two(one: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: one(*arguments) or other(*arguments)


@pytest.mark.parametrize(
    "method", [None, lambda *_: None, _of_two(print, print)], ids=["none", "plain", "two"]
)
def test_another_host_is_left_as_it_is(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    servicer = SimpleNamespace() if method is None else SimpleNamespace(Diff=method)
    monkeypatch.setattr(sys.modules["__main__"], cancellation.SERVICER, servicer, raising=False)
    assert not detailed_diff.take_over()


def test_another_answer_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrapped(fn: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: fn(*arguments)

    host = SimpleNamespace(Diff=wrapped(lambda *_: "answer"))
    monkeypatch.setattr(sys.modules["__main__"], cancellation.SERVICER, host, raising=False)
    assert detailed_diff.take_over()
    assert host.Diff(None, None) == "answer"
