"""The events between two states of a page, and the place in a log that the browser gives back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.ui.server import rendering
from pulumi_vertex_training.ui.server.streams import Shown, difference
from pulumi_vertex_training.ui.source.log import place_in
from support.tables import every_row

ROWS = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["x", "y"]), max_size=6)
PARTS = st.fixed_dictionaries({"state": st.sampled_from(["1", "2"]), "jobs": ROWS})


def applied(old: Any, change: Any) -> Any:
    """Change parts as the page does."""
    found = {name: dict(part) if isinstance(part, dict) else part for name, part in old.items()}
    found.update(change.get("fragments", {}))
    for name, rows in change.get("rows", {}).items():
        everything = {**found.get(name, {}), **rows["changed"]}
        order = rows["order"] if rows["order"] is not None else list(found.get(name, {}))
        found[name] = {key: everything[key] for key in order}
    return found


@given(PARTS, PARTS)
def test_the_difference_turns_the_old_parts_into_the_new_ones(old: Any, new: Any) -> None:
    change = difference(old, new)
    after = applied(old, change)
    assert after == new
    assert list(after["jobs"]) == list(new["jobs"])
    if old == new and list(old["jobs"]) == list(new["jobs"]):
        assert change == {}


def test_an_unknown_first_view_is_sent_everything() -> None:
    new: Any = {"state": "1", "jobs": {"a": "x"}}
    assert applied({}, difference(Shown().get("gone"), new)) == new


@every_row(
    "text", ["", "-", "nonsense", "2026-99-01T00:00:00Z x", "<script> 1", "\x00", "0001-01-01T00:00:00Z"]
)
def test_a_wrong_place_means_the_beginning(text: str) -> None:
    assert place_in(text) == ""


def test_a_place_is_read_as_it_is_written() -> None:
    assert place_in("2026-01-01T00:00:00.123456789Z") == "2026-01-01T00:00:00.123456789Z"


@every_row("state", ["RUNNING", "JOB <b>", "a b", "é", ""])
def test_a_state_is_a_safe_class(state: str) -> None:
    assert set(rendering.slug(state)) <= set("abcdefghijklmnopqrstuvwxyz-")
