"""Rules for model IDs, versions and aliases."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.models import store

TWO: Mapping[int, tuple[str, ...]] = {1: ("default", "old"), 2: ("new",)}


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        pytest.param("my_model-1", True, id="plain"),
        pytest.param("_a", True, id="underscore-first"),
        pytest.param("1a", False, id="digit-first"),
        pytest.param("-a", False, id="hyphen-first"),
        pytest.param("A", False, id="capital"),
        pytest.param("a" * 63, True, id="63"),
        pytest.param("a" * 64, False, id="64"),
        pytest.param("", False, id="empty"),
    ],
)
def test_ids(text: str, valid: bool) -> None:
    assert bool(store.IDS.pattern.fullmatch(text)) is valid


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        pytest.param("golden", True, id="plain"),
        pytest.param("v1-Beta2", True, id="capital-inside"),
        pytest.param("a", False, id="one-character"),
        pytest.param("1a", False, id="digit-first"),
        pytest.param("ab-", False, id="hyphen-last"),
        pytest.param("a" * 128, True, id="128"),
        pytest.param("a" * 129, False, id="129"),
    ],
)
def test_aliases(text: str, valid: bool) -> None:
    assert store.is_alias(text) is valid


@pytest.mark.parametrize(
    ("version", "number"),
    [
        pytest.param("", 1, id="the-default"),
        pytest.param("2", 2, id="by-number"),
        pytest.param("new", 2, id="by-alias"),
        pytest.param("3", None, id="no-such-number"),
        pytest.param("newer", None, id="no-such-alias"),
    ],
)
def test_references(version: str, number: int | None) -> None:
    assert store.find_version(TWO, version) == number


def test_the_first_version_is_the_default() -> None:
    assert store.add_version({}, 1, ["golden"]) == {1: ("default", "golden")}


def test_a_new_version_is_not_the_default() -> None:
    assert store.add_version({1: ("default",)}, 2, []) == {1: ("default",), 2: ()}


def test_aliases_move_to_a_new_version() -> None:
    assert store.add_version(TWO, 3, ["default", "new"]) == {1: ("old",), 2: (), 3: ("default", "new")}


@pytest.mark.parametrize(
    ("version", "changes", "after"),
    [
        pytest.param(2, ["golden"], {1: ("default", "old"), 2: ("new", "golden")}, id="added"),
        pytest.param(2, ["old"], {1: ("default",), 2: ("new", "old")}, id="moved"),
        pytest.param(2, ["default"], {1: ("old",), 2: ("new", "default")}, id="the-default-moved"),
        pytest.param(2, ["-new"], {1: ("default", "old"), 2: ()}, id="removed"),
        pytest.param(2, ["-old"], dict(TWO), id="not-its-own"),
        pytest.param(2, ["x1", "-x1"], dict(TWO), id="added-and-removed"),
    ],
)
def test_merging(version: int, changes: list[str], after: dict[int, tuple[str, ...]]) -> None:
    assert store.merge_aliases(TWO, version, changes) == after


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param(["-default"], "FAILED_PRECONDITION", id="the-default-removed"),
        pytest.param(["7"], "INVALID_ARGUMENT", id="not-an-alias"),
    ],
)
def test_merging_invalid_aliases(changes: list[str], code: str) -> None:
    with pytest.raises(RpcError) as refused:
        store.merge_aliases(TWO, 1, changes)
    assert refused.value.code == code
