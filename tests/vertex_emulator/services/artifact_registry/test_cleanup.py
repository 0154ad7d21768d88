"""The decision which versions cleanup policies delete."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import every_row
from vertex_emulator.services.artifact_registry.cleanup import (
    Condition,
    MostRecentVersions,
    Policy,
    Version,
    deletions,
)

DAY = 24 * 3600 * 1_000_000
NOW = 1000 * DAY

OLD = Version(package="trainer", name="sha256:aa", created=NOW - 40 * DAY, tags=("v1", "prod"))
LOOSE = Version(package="trainer", name="sha256:ab", created=NOW - 20 * DAY)
NEW = Version(package="trainer", name="sha256:bb", created=NOW - DAY, tags=("v2",))
OTHER = Version(package="team/evaluator", name="sha256:cc", created=NOW - 40 * DAY, tags=("v1",))
ALL = (OLD, LOOSE, NEW, OTHER)


def delete(**condition: Any) -> Policy:
    return Policy(id="delete", action="DELETE", rule=Condition(**condition))


def keep(**condition: Any) -> Policy:
    return Policy(id="keep", action="KEEP", rule=Condition(**condition))


def most_recent(count: int, *prefixes: str) -> Policy:
    rule = MostRecentVersions(keep_count=count, package_name_prefixes=prefixes)
    return Policy(id="recent", action="KEEP", rule=rule)


def gone(*policies: Policy, versions: tuple[Version, ...] = ALL, **options: Any) -> list[str]:
    found = deletions(policies, versions, now=NOW, **options)
    return [each.version.name.removeprefix("sha256:") for each in found]


@every_row(
    ("policies", "expected"),
    [
        pytest.param([], [], id="no policies"),
        pytest.param([delete()], ["aa", "ab", "bb", "cc"], id="all"),
        pytest.param([keep()], [], id="a policy that keeps deletes nothing"),
        pytest.param([delete(tag_state="TAGGED")], ["aa", "bb", "cc"], id="tagged"),
        pytest.param([delete(tag_state="UNTAGGED")], ["ab"], id="untagged"),
        pytest.param([delete(tag_prefixes=("pr",))], ["aa"], id="any of the tags begins so"),
        pytest.param([delete(tag_prefixes=("pr", "v2"))], ["aa", "bb"], id="one of several prefixes"),
        pytest.param([delete(tag_prefixes=("rod",))], [], id="a prefix is no part"),
        pytest.param([delete(tag_state="UNTAGGED", tag_prefixes=("v",))], [], id="untagged with a tag"),
        pytest.param([delete(version_name_prefixes=("sha256:a",))], ["aa", "ab"], id="version names"),
        pytest.param([delete(package_name_prefixes=("team/",))], ["cc"], id="package names"),
        pytest.param([delete(older_than=30 * DAY)], ["aa", "cc"], id="older"),
        pytest.param([delete(newer_than=30 * DAY)], ["ab", "bb"], id="newer"),
        pytest.param([delete(older_than=10 * DAY, newer_than=30 * DAY)], ["ab"], id="between"),
        pytest.param([delete(older_than=40 * DAY)], [], id="not older than its age"),
        pytest.param([delete(newer_than=DAY)], [], id="not newer than its age"),
        pytest.param([delete(older_than=30 * DAY, tag_prefixes=("prod",))], ["aa"], id="all has to hold"),
        pytest.param([delete(), keep(tag_prefixes=("prod",))], ["ab", "bb", "cc"], id="keep wins"),
        pytest.param([delete(), most_recent(1)], ["aa", "ab"], id="the newest of each package"),
        pytest.param([delete(), most_recent(2)], ["aa"], id="the two newest"),
        pytest.param([delete(), most_recent(1, "train")], ["aa", "ab", "cc"], id="of some packages"),
        pytest.param([delete(), most_recent(9)], [], id="more than there are"),
        pytest.param([most_recent(1)], [], id="without a policy that deletes"),
    ],
)
def test_deleted_versions(policies: list[Policy], expected: list[str]) -> None:
    assert gone(*policies) == expected


def test_immutable_tags_keep_tagged_versions() -> None:
    assert gone(delete(), immutable_tags=True) == ["ab"]


def test_the_first_policy_by_id_is_named() -> None:
    first = Policy(id="a", action="DELETE", rule=Condition(tag_state="UNTAGGED"))
    assert [each.policy for each in deletions([delete(), first], ALL, now=NOW)] == [
        "delete",
        "a",
        "delete",
        "delete",
    ]


INDEX = Version(package="p", name="index", created=NOW - 10 * DAY, tags=("v1",))
PART = Version(package="p", name="part", created=NOW - 10 * DAY, parents=("index",))
DEEP = Version(package="p", name="deep", created=NOW - 10 * DAY, parents=("part",))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param(delete(tag_state="UNTAGGED"), [], id="the index stays"),
        pytest.param(delete(), ["index", "part", "deep"], id="the index goes"),
        pytest.param(delete(version_name_prefixes=("part",)), [], id="of a part alone"),
    ],
)
def test_parts_of_an_index_are_deleted_with_it_only(policy: Policy, expected: list[str]) -> None:
    assert gone(policy, versions=(INDEX, PART, DEEP)) == expected


def test_a_part_of_a_deleted_index_is_deleted() -> None:
    assert gone(delete(), versions=(PART,)) == ["part"]


conditions = st.builds(
    Condition,
    tag_state=st.sampled_from(["ANY", "TAGGED", "UNTAGGED"]),
    tag_prefixes=st.lists(st.sampled_from(["v", "p"]), max_size=2).map(tuple),
    package_name_prefixes=st.lists(st.sampled_from(["a", "b"]), max_size=1).map(tuple),
    older_than=st.none() | st.integers(0, 50 * DAY),
    newer_than=st.none() | st.integers(0, 50 * DAY),
)
rules = st.tuples(
    st.sampled_from(["DELETE", "KEEP"]),
    conditions | st.builds(MostRecentVersions, keep_count=st.integers(1, 3)),
).filter(lambda pair: pair[0] == "KEEP" or isinstance(pair[1], Condition))
policies = st.lists(rules, max_size=5).map(
    lambda found: [Policy(id=str(i), action=each[0], rule=each[1]) for i, each in enumerate(found)]  # type: ignore[arg-type]
)


@st.composite
def some_versions(draw: st.DrawFn) -> tuple[Version, ...]:
    found: list[Version] = []
    for number in range(draw(st.integers(0, 8))):
        earlier = [each.name for each in found if each.package == "a"]
        package = draw(st.sampled_from(["a", "b"]))
        found.append(
            Version(
                package=package,
                name=f"v{number}",
                created=NOW - draw(st.integers(0, 60 * DAY)),
                tags=tuple(draw(st.lists(st.sampled_from(["v1", "prod", "x"]), max_size=2, unique=True))),
                parents=tuple(draw(st.lists(st.sampled_from(earlier), max_size=1)))
                if earlier and package == "a"
                else (),
            )
        )
    return tuple(found)


@given(policies, some_versions())
def test_more_to_keep_never_deletes_more(found: list[Policy], versions: tuple[Version, ...]) -> None:
    before = {each.version for each in deletions(found, versions, now=NOW)}
    after = {each.version for each in deletions([*found, most_recent(1)], versions, now=NOW)}
    assert after <= before


@given(policies, some_versions())
def test_kept_indexes_are_complete(found: list[Policy], versions: tuple[Version, ...]) -> None:
    """Check that no index is kept without its parts."""
    chosen = {each.version for each in deletions(found, versions, now=NOW)}
    left = {(each.package, each.name) for each in versions if each not in chosen}
    assert not [each for each in chosen if any((each.package, parent) in left for parent in each.parents)]


@given(policies, some_versions())
def test_cleanup_is_idempotent(found: list[Policy], versions: tuple[Version, ...]) -> None:
    chosen = {each.version for each in deletions(found, versions, now=NOW)}
    left = tuple(each for each in versions if each not in chosen)
    assert not deletions(found, left, now=NOW)


@given(some_versions(), st.integers(1, 4))
def test_keep_count_versions_of_each_package_are_kept(versions: tuple[Version, ...], count: int) -> None:
    chosen = {each.version for each in deletions([delete(), most_recent(count)], versions, now=NOW)}
    for package in ("a", "b"):
        of_package = [each for each in versions if each.package == package]
        assert len([each for each in of_package if each not in chosen]) >= min(count, len(of_package))
