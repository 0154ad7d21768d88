"""Pages, sort orders and wildcards of all lists."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.artifact_registry.listing import PageRequest, filter_of, order_of, page_of


@dataclass(frozen=True)
class Item:
    name: str
    size: int = field(default=0)


items = st.lists(
    st.builds(Item, st.text("abc", min_size=1, max_size=3), st.integers(0, 3)),
    unique_by=lambda each: each.name,
    max_size=12,
)


def page(token: str, size: int) -> PageRequest:
    return PageRequest.of(SimpleNamespace(page_size=size, page_token=token), query="q")


def all_pages(found: list[Item], size: int, *, by_size: bool, descending: bool) -> list[Item]:
    order = (lambda each: each.size) if by_size else None
    listed: list[Item] = []
    token = ""
    while True:
        chosen, token = page_of(
            found, page(token, size), key=lambda each: each.name, order=order, descending=descending
        )
        listed += chosen
        if not token:
            return listed


@given(items, st.integers(1, 5), st.booleans(), st.booleans())
def test_all_pages_make_up_the_list(found: list[Item], size: int, by_size: bool, descending: bool) -> None:
    listed = all_pages(found, size, by_size=by_size, descending=descending)
    expected = sorted(found, key=lambda each: each.name)
    if by_size:
        expected.sort(key=lambda each: each.size, reverse=descending)
    elif descending:
        expected.reverse()
    assert listed == expected


@given(items.filter(lambda found: len(found) > 2), st.booleans(), st.booleans(), st.data())
def test_a_deletion_between_pages_hides_no_item(
    found: list[Item], by_size: bool, descending: bool, data: st.DataObject
) -> None:
    order = (lambda each: each.size) if by_size else None
    whole = all_pages(found, 100, by_size=by_size, descending=descending)
    first, token = page_of(found, page("", 2), key=lambda each: each.name, order=order, descending=descending)
    gone = data.draw(st.sampled_from(list(first)))
    left = [each for each in found if each != gone]
    second, _ = page_of(
        left, page(token, 100), key=lambda each: each.name, order=order, descending=descending
    )
    assert list(second) == whole[2:]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("abc", "abc", True),
        ("abc", "ABC", True),
        ("a*", "abc", True),
        ("*c", "abc", True),
        ("*b*", "abc", True),
        ("a*c", "ac", True),
        ("a*a", "a", False),
        ("a*b*c", "a-b-c", True),
        ("a**c", "abc", True),
        ("*", "", True),
        ("b*", "abc", False),
        ("*b", "abc", False),
        ("a.c", "abc", False),
    ],
)
def test_wildcards(pattern: str, text: str, expected: bool) -> None:
    assert filter_of(f'name="{pattern}"', ("name",), lambda item, _: [item])(text) == expected


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_wildcards_are_those_of_a_regular_expression(pattern: str, text: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
    assert filter_of(f'name="{pattern}"', ("name",), lambda item, _: [item])(text) == expected


def test_many_wildcards_are_fast() -> None:
    test = filter_of(f'name="{"*a" * 200}b"', ("name",), lambda item, _: [item])
    assert not test("a" * 5000)


@pytest.mark.parametrize("text", ["size", "createTime", "create_time", "create_time  asc", "createTime DESC"])
def test_orders(text: str) -> None:
    fields = {"size": lambda each: each.size, "create_time": lambda each: each.size}
    order, descending = order_of(text, fields)
    assert (order(Item("a", 7)), descending) == (7, text.endswith("DESC"))


@pytest.mark.parametrize("token", ["x", "!", "W10", "bnVsbA", "W1siIiwieCJdLCJ4Il0"])
def test_invalid_page_tokens(token: str) -> None:
    with pytest.raises(RpcError, match="page token"):
        page_of([Item("a")], page(token, 1), key=lambda each: each.name)
