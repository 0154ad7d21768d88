"""Patterns of requests: RE2's syntax, and a time that no pattern can stretch."""

from __future__ import annotations

import random
import re
import threading
from pathlib import Path

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from support.emulated.emulator import found_sandbox
from support.emulated.job_emulator import running_jobs
from vertex_emulator.server.rpc.patterns import MAX_PROGRAM, PatternError, compiled
from vertex_emulator.services.logging import query as logging_query
from vertex_emulator.services.logging import query as patterns

LONG = 40
"""Letters for which Python's own engine takes years with the first of the patterns below."""

HOSTILE = [
    pytest.param("(a+)+$", "a" * LONG + "!", id="nested repetitions"),
    pytest.param("(a|aa)+$", "a" * 100 * LONG + "!", id="two ways for each letter"),
    pytest.param("(a?){40}a{40}b", "a" * 100 * LONG, id="many that may be left out"),
    pytest.param(r"(.*)(.*)(.*)(.*)(.*)(.*)x$", "a" * 100 * LONG, id="many stars"),
    pytest.param(r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 100 * LONG, id="nested groups"),
]


@pytest.mark.parity("The interface: Cloud Logging")
@pytest.mark.parametrize(("pattern", "text"), HOSTILE)
def test_a_pattern_made_to_take_for_ever_does_not(pattern: str, text: str) -> None:
    assert not compiled(pattern)(text)


def test_other_threads_run_meanwhile() -> None:
    """Run other threads during a search of about a second, with the largest program.

    On a busy machine this thread may get no turn in one search.
    """
    search, text = compiled("a.{200}c"), "".join(random.Random(1).choices("ab", k=60_000))

    def turns() -> int:
        ended, found = threading.Event(), 0
        thread = threading.Thread(target=lambda: (search(text), ended.set()))
        thread.start()
        while not ended.wait(0.001):
            found += 1
        thread.join()
        return found

    assert any(turns() > 5 for _ in range(5))


def test_a_query_with_such_a_pattern_ends(tmp_path: Path) -> None:
    entry = {"logName": "projects/local/logs/own", "resource": {"type": "global"}, "textPayload": "a" * 5000}
    query = {"resourceNames": ["projects/local"], "filter": 'textPayload=~"(a+)+$!"'}
    with running_jobs(tmp_path / "data", sandbox=found_sandbox()) as emulator:
        assert emulator.call("POST", "/v2/entries:write", {"entries": [entry]}).status == 200
        found = emulator.call("POST", "/v2/entries:list", query)
    assert (found.status, found.json().get("entries", [])) == (200, [])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param("loss", "the loss is 1", id="anywhere"),
        pytest.param(r"^\d+$", "123", id="all of it"),
        pytest.param("(?i)LOSS", "the loss", id="whatever the case"),
        pytest.param(r"\pL+", "é", id="letters of all languages"),
        pytest.param("a.b", "aéb", id="any character"),
        pytest.param("é", "café", id="a letter that is not ASCII"),
        pytest.param(r"a\-b\ c", "a-b c", id="escaped"),
        pytest.param("^.$", "\ud800", id="half a character"),
        pytest.param("^\ud800$", "\udc00", id="half a character is no operator"),
        pytest.param("^.a.$", "\ud800a\udc00", id="halves apart"),
        pytest.param("^\U0001f600$", "\ud83d\ude00", id="halves of one character"),
    ],
)
def test_what_is_found(pattern: str, text: str) -> None:
    assert compiled(pattern)(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param("^loss", "the loss", id="not at the beginning"),
        pytest.param("LOSS", "the loss", id="in another case"),
        pytest.param(r"\d", "٣", id="no digit of ASCII"),
    ],
)
def test_what_is_not_found(pattern: str, text: str) -> None:
    assert not compiled(pattern)(text)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        pytest.param("[", "missing ]", id="a set that is not closed"),
        pytest.param("(?=a)b", "invalid perl operator", id="looking ahead"),
        pytest.param(r"(a)\1", "invalid escape sequence", id="a reference back"),
        pytest.param("((a{100}){100}){100}", "invalid repetition size", id="a million letters"),
        pytest.param(".{900}", f"more than {MAX_PROGRAM}", id="too large"),
    ],
)
def test_what_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(PatternError, match=words):
        compiled(pattern)


SPECIAL = "ab()[]{}*+?|^$.\\-,:=<>!Pdpwz019é\ud800"


@given(st.text(alphabet=SPECIAL, max_size=20), st.text(alphabet=SPECIAL, max_size=20))
def test_any_text_is_a_pattern_or_is_refused(pattern: str, text: str) -> None:
    try:
        search = compiled(pattern)
    except PatternError:
        reject()
    found = search(text)
    assert compiled(f"(?:{pattern})")(text) is found
    assert compiled(f"{pattern}|")(text) is True, "nothing is found everywhere"


PLAIN = st.recursive(
    st.sampled_from(["a", "b", "a*", ""]),
    lambda inner: (
        st.lists(inner, max_size=3).map("".join)
        | st.lists(inner, min_size=2, max_size=3).map("|".join)
        | inner.map("({})*".format)
    ),
    max_leaves=6,
)


@given(PLAIN, st.text(alphabet="ab", max_size=6))
def test_plain_patterns_find_what_python_finds(pattern: str, text: str) -> None:
    assert compiled(pattern)(text) is (re.search(pattern, text) is not None)


@given(st.text(alphabet="abcé./%-_ ", min_size=1, max_size=20))
def test_the_id_of_any_log_is_found(log: str) -> None:
    """`log_id` becomes a pattern of the emulator's own."""
    expression = logging_query.parse(f'log_id("{log}")')
    test = logging_query.predicate_of({"logName": f"projects/local/logs/{log}"})
    assert isinstance(expression, logging_query.Comparison)
    assert test(expression)


def test_patterns_are_kept() -> None:
    assert patterns.compiled("kept") is patterns.compiled("kept")
